// RUN: python %S/lift_and_emit.py %s as-matmul | iree-opt | filecheck %s

// A contraction over an image is one matmul: rows merge, nothing else does.

// CHECK-LABEL: func.func @pointwise(
// CHECK:         %[[ROWS:.*]] = tensor.collapse_shape %{{.*}} {{\[}}[0, 1, 2], [3]] : tensor<2x5x7x4xf32> into tensor<70x4xf32>
// CHECK:         %[[Y:.*]] = linalg.matmul ins(%[[ROWS]], %{{.*}} : tensor<70x4xf32>, tensor<4x8xf32>)
// CHECK:         tensor.expand_shape %[[Y]] {{\[}}[0, 1, 2], [3]]
#x = affine_map<(n, h, w, f, c) -> (n, h, w, c)>
#w = affine_map<(n, h, w, f, c) -> (c, f)>
#y = affine_map<(n, h, w, f, c) -> (n, h, w, f)>
util.func public @pointwise(%x: tensor<2x5x7x4xf32>, %w: tensor<4x8xf32>) -> tensor<2x5x7x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<2x5x7x8xf32>
  %y = linalg.generic {indexing_maps = [#x, #w, #y],
      iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction"]}
      ins(%x, %w : tensor<2x5x7x4xf32>, tensor<4x8xf32>) outs(%zero : tensor<2x5x7x8xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %c, %p : f32
    linalg.yield %s : f32
  } -> tensor<2x5x7x8xf32>
  util.return %y : tensor<2x5x7x8xf32>
}
