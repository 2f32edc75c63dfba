"""Small models, among them most ops that the graph holds."""

from __future__ import annotations

MATMUL = """
func.func @main(%x: tensor<8x16xf32>, %w: tensor<16x8xf32>) -> tensor<8x8xf32> {
  %c = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %f = linalg.fill ins(%c : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<8x16xf32>, tensor<16x8xf32>)
    outs(%f : tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = linalg.map { arith.addf } ins(%y, %y : tensor<8x8xf32>, tensor<8x8xf32>)
    outs(%e : tensor<8x8xf32>)
  return %z : tensor<8x8xf32>
}
"""
WINDOWS = """
#id = affine_map<(n, h, w, f) -> (n, h, w, f)>
#bias = affine_map<(n, h, w, f) -> (f)>
func.func @main(%x: tensor<1x6x6x4xf32>) -> tensor<1x2x2x8xf32> {
  %zero = arith.constant 0.0 : f32
  %w = arith.constant dense<0.25> : tensor<3x3x4x8xf32>
  %b = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]> : tensor<8xf32>
  %p = tensor.pad %x low[0, 1, 1, 0] high[0, 1, 1, 0] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<1x6x6x4xf32> to tensor<1x8x8x4xf32>
  %e = tensor.empty() : tensor<1x6x6x8xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>
  %c = linalg.conv_2d_nhwc_hwcf {strides = dense<1> : tensor<2xi64>,
    dilations = dense<1> : tensor<2xi64>}
    ins(%p, %w : tensor<1x8x8x4xf32>, tensor<3x3x4x8xf32>)
    outs(%f : tensor<1x6x6x8xf32>) -> tensor<1x6x6x8xf32>
  %r = linalg.generic {indexing_maps = [#id, #bias, #id],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%c, %b : tensor<1x6x6x8xf32>, tensor<8xf32>) outs(%e : tensor<1x6x6x8xf32>) {
  ^bb0(%a: f32, %d: f32, %o: f32):
    %s = arith.addf %a, %d : f32
    %m = arith.maximumf %s, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x6x6x8xf32>
  %window = tensor.empty() : tensor<3x3xf32>
  %e2 = tensor.empty() : tensor<1x2x2x8xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xf32>
  %q = linalg.pooling_nhwc_max {strides = dense<2> : tensor<2xi64>,
    dilations = dense<1> : tensor<2xi64>}
    ins(%r, %window : tensor<1x6x6x8xf32>, tensor<3x3xf32>)
    outs(%f2 : tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xf32>
  return %q : tensor<1x2x2x8xf32>
}
"""
MOVES = """
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
util.global private @w = dense<0.5> : tensor<8x4xf32>
func.func @moved(%x: tensor<4x8xf32>, %ids: tensor<6xi32>, %n: index) -> tensor<6x12xf32> {
  %zero = arith.constant 0.0 : f32
  %w = util.global.load @w : tensor<8x4xf32>
  %e = tensor.empty() : tensor<8x4xf32>
  %t = linalg.transpose ins(%x : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) permutation = [1, 0]
  %cat = tensor.concat dim(1) %t, %w : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x8xf32>
  %s = tensor.extract_slice %cat[0, 1] [8, 4] [1, 2] : tensor<8x8xf32> to tensor<8x4xf32>
  %in = tensor.insert_slice %s into %cat[0, 2] [8, 4] [1, 1] : tensor<8x4xf32> into tensor<8x8xf32>
  %flat = tensor.collapse_shape %in [[0, 1]] : tensor<8x8xf32> into tensor<64xf32>
  %again = tensor.expand_shape %flat [[0, 1]] output_shape [16, 4] : tensor<64xf32> into
    tensor<16x4xf32>
  %ge = tensor.empty() : tensor<6x4xf32>
  %g = linalg.generic {indexing_maps = [#i, #ij], iterator_types = ["parallel", "parallel"]}
    ins(%ids : tensor<6xi32>) outs(%ge : tensor<6x4xf32>) {
  ^bb0(%a: i32, %o: f32):
    %row = arith.index_cast %a : i32 to index
    %column = linalg.index 1 : index
    %v = tensor.extract %again[%row, %column] : tensor<16x4xf32>
    linalg.yield %v : f32
  } -> tensor<6x4xf32>
  %p = tensor.pad %g low[0, 2] high[0, 6] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<6x4xf32> to tensor<6x12xf32>
  return %p : tensor<6x12xf32>
}
func.func @looped(%x: tensor<4x4xf32>, %n: index) -> tensor<4x4xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %e = tensor.empty() : tensor<4x4xf32>
  %r = scf.for %i = %c0 to %n step %c1 iter_args(%a = %x) -> tensor<4x4xf32> {
    %y = linalg.map { arith.addf } ins(%a, %x : tensor<4x4xf32>, tensor<4x4xf32>)
      outs(%e : tensor<4x4xf32>)
    scf.yield %y : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}
"""
