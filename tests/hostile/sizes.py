"""Ranks and sizes at their limits."""

from __future__ import annotations

from tests.hostile.module import T, function

SIZES: dict[str, str] = {
    "tensors of rank 0 and of one element": function(
        """%e = tensor.empty() : tensor<f32>
    %p = linalg.map { math.exp } ins(%d : tensor<f32>) outs(%e : tensor<f32>)
    %q = tensor.expand_shape %p [] output_shape [1, 1, 1] : tensor<f32> into tensor<1x1x1xf32>
    %r = tensor.collapse_shape %q [] : tensor<1x1x1xf32> into tensor<f32>
    %t = tensor.extract %r[] : tensor<f32>""",
        "%d: tensor<f32>",
        "f32",
        "%t",
    ),
    "a tensor of rank 12": function(
        """%e = tensor.empty() : tensor<2x1x2x1x2x1x2x1x2x1x2x1xf32>
    %p = linalg.transpose ins(%d : tensor<1x2x1x2x1x2x1x2x1x2x1x2xf32>)
      outs(%e : tensor<2x1x2x1x2x1x2x1x2x1x2x1xf32>)
      permutation = [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10]""",
        "%d: tensor<1x2x1x2x1x2x1x2x1x2x1x2xf32>",
        "tensor<2x1x2x1x2x1x2x1x2x1x2x1xf32>",
        "%p",
    ),
    "matmul of no elements": function(
        """%e = tensor.empty() : tensor<0x4xf32>
    %p = linalg.matmul ins(%a, %b : tensor<0x8xf32>, tensor<8x4xf32>)
      outs(%e : tensor<0x4xf32>) -> tensor<0x4xf32>""",
        "%a: tensor<0x8xf32>, %b: tensor<8x4xf32>",
        "tensor<0x4xf32>",
        "%p",
    ),
    "a sum over no elements": function(
        """%e = tensor.empty() : tensor<4x4xf32>
    %f = linalg.fill ins(%mm0 : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %p = linalg.matmul ins(%a, %b : tensor<4x0xf32>, tensor<0x4xf32>)
      outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>""",
        "%a: tensor<4x0xf32>, %b: tensor<0x4xf32>",
        "tensor<4x4xf32>",
        "%p",
    ),
    "packs and unpacks": function(
        f"""%e = tensor.empty() : tensor<2x2x4x4xf32>
    %p = linalg.pack %mm inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %e
      : {T} -> tensor<2x2x4x4xf32>
    %u = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %mme
      : tensor<2x2x4x4xf32> -> {T}""",
        "",
        T,
        "%u",
    ),
    "a contraction over everything": function(
        f"""%e = tensor.empty() : tensor<f32>
    %f = linalg.fill ins(%mm0 : f32) outs(%e : tensor<f32>) -> tensor<f32>
    %p = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j, i)>,
                       affine_map<(i, j) -> ()>], iterator_types = ["reduction", "reduction"]}}
      ins(%mm, %mm : {T}, {T}) outs(%f : tensor<f32>) {{
    ^bb0(%a: f32, %b: f32, %o: f32):
      %m = arith.mulf %a, %b : f32
      %s = arith.addf %m, %o : f32
      linalg.yield %s : f32
    }} -> tensor<f32>""",
        "",
        "tensor<f32>",
        "%p",
    ),
    "huge shapes": function(
        """%e = tensor.empty() : tensor<2147483647x2147483647xf32>
    %p = linalg.map { math.exp } ins(%d : tensor<2147483647x2147483647xf32>)
      outs(%e : tensor<2147483647x2147483647xf32>)""",
        "%d: tensor<2147483647x2147483647xf32>",
        "tensor<2147483647x2147483647xf32>",
        "%p",
    ),
    "shapes beyond 64 bits": function(
        """%e = tensor.empty() : tensor<4611686018427387904x64xf32>
    %p = linalg.map { math.exp } ins(%d : tensor<4611686018427387904x64xf32>)
      outs(%e : tensor<4611686018427387904x64xf32>)""",
        "%d: tensor<4611686018427387904x64xf32>",
        "tensor<4611686018427387904x64xf32>",
        "%p",
    ),
}
