func.func @main(%x: tensor<1x111x111x64xf32>) -> tensor<1x55x55x64xf32> {
  %lowest = arith.constant 0xFF800000 : f32
  %window = tensor.empty() : tensor<3x3xf32>
  %empty = tensor.empty() : tensor<1x55x55x64xf32>
  %fill = linalg.fill ins(%lowest : f32) outs(%empty : tensor<1x55x55x64xf32>) -> tensor<1x55x55x64xf32>
  %y = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>} ins(%x, %window : tensor<1x111x111x64xf32>, tensor<3x3xf32>) outs(%fill : tensor<1x55x55x64xf32>) -> tensor<1x55x55x64xf32>
  return %y : tensor<1x55x55x64xf32>
}
