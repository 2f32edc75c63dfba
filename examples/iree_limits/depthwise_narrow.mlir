func.func @main(%x: tensor<1x9x9x960xf32>, %w: tensor<3x3x960xf32>) -> tensor<1x7x7x960xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x7x7x960xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x7x7x960xf32>) -> tensor<1x7x7x960xf32>
  %y = linalg.depthwise_conv_2d_nhwc_hwc ins(%x, %w : tensor<1x9x9x960xf32>, tensor<3x3x960xf32>) outs(%fill : tensor<1x7x7x960xf32>) -> tensor<1x7x7x960xf32>
  return %y : tensor<1x7x7x960xf32>
}
