// RUN: python %S/lift_and_emit.py %s | iree-opt | filecheck %s

// Ops that only move data; a rank-reducing slice is a slice and a collapse.

// CHECK-LABEL: func.func @moves(
// CHECK:         tensor.pad %{{.*}} low[1, 0] high[0, 2]
// CHECK:         tensor.extract_slice %{{.*}}[2, 0] [1, 8] [1, 1] : tensor<5x8xf32> to tensor<1x8xf32>
// CHECK:         tensor.collapse_shape {{.*}} : tensor<1x8xf32> into tensor<8xf32>
// CHECK:         tensor.concat dim(0)
// CHECK:         linalg.transpose {{.*}} permutation = [1, 0]
util.func public @moves(%x: tensor<4x6xf32>) -> (tensor<16xf32>, tensor<6x4xf32>) {
  %seven = arith.constant 7.0 : f32
  %padded = tensor.pad %x low[1, 0] high[0, 2] {
  ^bb0(%i: index, %j: index):
    tensor.yield %seven : f32
  } : tensor<4x6xf32> to tensor<5x8xf32>
  %row = tensor.extract_slice %padded[2, 0] [1, 8] [1, 1] : tensor<5x8xf32> to tensor<8xf32>
  %twice = tensor.concat dim(0) %row, %row : (tensor<8xf32>, tensor<8xf32>) -> tensor<16xf32>
  %empty = tensor.empty() : tensor<6x4xf32>
  %turned = linalg.transpose ins(%x : tensor<4x6xf32>) outs(%empty : tensor<6x4xf32>) permutation = [1, 0]
  util.return %twice, %turned : tensor<16xf32>, tensor<6x4xf32>
}
