func.func @main(%x: tensor<1x64x15x15xf32>, %w: tensor<256x64x3x3xf32>) -> tensor<1x256x13x13xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x256x13x13xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x256x13x13xf32>) -> tensor<1x256x13x13xf32>
  %y = linalg.conv_2d_nchw_fchw ins(%x, %w : tensor<1x64x15x15xf32>, tensor<256x64x3x3xf32>) outs(%fill : tensor<1x256x13x13xf32>) -> tensor<1x256x13x13xf32>
  return %y : tensor<1x256x13x13xf32>
}
