"""Linalg ops with maps and bodies of all kinds."""

from __future__ import annotations

from tests.hostile.module import T, function

BODIES: dict[str, str] = {
    "attributes of linalg.generic": function(
        f"""%p = linalg.generic {{doc = "a \\"quoted\\" text\\0A", library_call = "some_call",
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"], odd = #map, also = [1, "x", unit]}}
      ins(%mm : {T}) outs(%mme : {T}) attrs = {{more}} {{
    ^bb0(%a: f32, %o: f32):
      %m = arith.mulf %a, %a fastmath<fast> : f32
      linalg.yield %m : f32
    }} -> {T}""",
        "",
        T,
        "%p",
    ).replace("  func", "#map = affine_map<(d0)[s0] -> (d0 floordiv s0)>\n  func", 1),
    "a map with floordiv and mod": function(
        f"""%e = tensor.empty() : tensor<8x8x4xf32>
    %p = linalg.generic {{
      indexing_maps = [affine_map<(i, j, k) -> (i floordiv 2, j mod 4)>,
                       affine_map<(i, j, k) -> (i, j, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%mm : {T}) outs(%e : tensor<8x8x4xf32>) {{
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }} -> tensor<8x8x4xf32>""",
        "",
        "tensor<8x8x4xf32>",
        "%p",
    ),
    "a map that runs backwards": function(
        f"""%e = tensor.empty() : tensor<8xf32>
    %p = linalg.generic {{
      indexing_maps = [affine_map<(i) -> (-i + 7, 0)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}}
      ins(%mm : {T}) outs(%e : tensor<8xf32>) {{
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }} -> tensor<8xf32>""",
        "",
        "tensor<8xf32>",
        "%p",
    ),
    "a window iterator by another name": function(
        f"""%e = tensor.empty() : tensor<8xf32>
    %p = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}}
      ins(%mm : {T}) outs(%e : tensor<8xf32>) {{
    ^bb0(%a: f32, %o: f32):
      %c = arith.cmpf une, %a, %a : f32
      %s = arith.select %c, %o, %a : f32
      linalg.yield %s : f32
    }} -> tensor<8xf32>""",
        "",
        "tensor<8xf32>",
        "%p",
    ),
    "a body with a region": function(
        f"""%p = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%mm : {T}) outs(%mme : {T}) {{
    ^bb0(%a: f32, %o: f32):
      %z = arith.cmpf olt, %a, %mm0 : f32
      %m = scf.if %z -> f32 {{ scf.yield %a : f32 }} else {{ scf.yield %mm0 : f32 }}
      linalg.yield %m : f32
    }} -> {T}""",
        "",
        T,
        "%p",
    ),
    "a body that calls": function(
        f"""%p = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%mm : {T}) outs(%mme : {T}) {{
    ^bb0(%a: f32, %o: f32):
      %m = func.call @other(%a) : (f32) -> f32
      linalg.yield %m : f32
    }} -> {T}""",
        "",
        T,
        "%p",
    )
    + "func.func private @other(%a: f32) -> f32 { return %a : f32 }",
    "a body that yields what it captures": function(
        f"""%p = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      outs(%mme : {T}) {{
    ^bb0(%o: f32):
      linalg.yield %s : f32
    }} -> {T}""",
        "%s: f32",
        T,
        "%p",
    ),
    "a body of index scalars from outside": function(
        f"""%p = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      outs(%mme : {T}) {{
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %k = arith.addi %i, %s : index
      %m = arith.index_cast %k : index to i32
      %f = arith.sitofp %m : i32 to f32
      linalg.yield %f : f32
    }} -> {T}""",
        "%s: index",
        T,
        "%p",
    ),
    "a body of a number that NumPy cannot hold": function(
        """%e = tensor.empty() : tensor<8xi64>
    %p = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%e : tensor<8xi64>) {
    ^bb0(%o: i64):
      %c = arith.constant 170141183460469231731687303715884105727 : i128
      %t = arith.trunci %c : i128 to i64
      linalg.yield %t : i64
    } -> tensor<8xi64>""",
        "",
        "tensor<8xi64>",
        "%p",
    ),
    "linalg ops without a body of their own": function(
        f"%p = linalg.softmax dimension(1) ins(%mm : {T}) outs(%mme : {T}) -> {T}", "", T, "%p"
    ),
    "a reduction of two results": function(
        f"""%e = tensor.empty() : tensor<8xf32>
    %f = linalg.fill ins(%mm0 : f32) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    %p:2 = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                       affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}}
      ins(%mm : {T}) outs(%f, %f : tensor<8xf32>, tensor<8xf32>) {{
    ^bb0(%a: f32, %o: f32, %q: f32):
      %m = arith.addf %a, %o : f32
      %n = arith.mulf %a, %q : f32
      linalg.yield %m, %n : f32, f32
    }} -> (tensor<8xf32>, tensor<8xf32>)""",
        "",
        "tensor<8xf32>, tensor<8xf32>",
        "%p#0, %p#1",
    ),
    "iree_linalg_ext": function(
        f"""%e = tensor.empty() : tensor<8x8xi32>
    %p:2 = iree_linalg_ext.sort dimension(1) outs(%mm, %i : {T}, tensor<8x8xi32>) {{
    ^bb0(%a: f32, %b: f32, %c: i32, %d: i32):
      %l = arith.cmpf ogt, %a, %b : f32
      iree_linalg_ext.yield %l : i1
    }} -> {T}, tensor<8x8xi32>""",
        "%i: tensor<8x8xi32>",
        T,
        "%p#0",
    ),
}
