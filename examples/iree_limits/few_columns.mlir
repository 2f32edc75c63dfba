func.func @main(%x: tensor<4x68x68xf32>, %w: tensor<4x68x196xf32>) -> tensor<4x68x196xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x68x196xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x68x196xf32>) -> tensor<4x68x196xf32>
  %y = linalg.batch_matmul ins(%x, %w : tensor<4x68x68xf32>, tensor<4x68x196xf32>) outs(%fill : tensor<4x68x196xf32>) -> tensor<4x68x196xf32>
  return %y : tensor<4x68x196xf32>
}
