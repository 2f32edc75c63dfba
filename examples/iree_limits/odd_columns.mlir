func.func @main(%x: tensor<12x197x64xf32>, %w: tensor<12x64x197xf32>) -> tensor<12x197x197xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<12x197x197xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<12x197x197xf32>) -> tensor<12x197x197xf32>
  %y = linalg.batch_matmul ins(%x, %w : tensor<12x197x64xf32>, tensor<12x64x197xf32>) outs(%fill : tensor<12x197x197xf32>) -> tensor<12x197x197xf32>
  return %y : tensor<12x197x197xf32>
}
