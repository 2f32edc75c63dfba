func.func @main(%x: tensor<1x96x62x62xf32>, %w: tensor<96x7x7xf32>) -> tensor<1x96x56x56xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x96x56x56xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x96x56x56xf32>) -> tensor<1x96x56x56xf32>
  %y = linalg.depthwise_conv_2d_nchw_chw ins(%x, %w : tensor<1x96x62x62xf32>, tensor<96x7x7xf32>) outs(%fill : tensor<1x96x56x56xf32>) -> tensor<1x96x56x56xf32>
  return %y : tensor<1x96x56x56xf32>
}
