func.func @main(%x: tensor<1x58x58x32x4xf32>, %w: tensor<32x4x3x3x4xf32>) -> tensor<1x56x56x32x4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x56x56x32x4xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<1x56x56x32x4xf32>) -> tensor<1x56x56x32x4xf32>
  %y = linalg.conv_2d_nhwgc_gfhwc ins(%x, %w : tensor<1x58x58x32x4xf32>, tensor<32x4x3x3x4xf32>) outs(%fill : tensor<1x56x56x32x4xf32>) -> tensor<1x56x56x32x4xf32>
  return %y : tensor<1x56x56x32x4xf32>
}
