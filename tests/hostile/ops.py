"""Ops that a graph does not hold."""

from __future__ import annotations

from tests.hostile.module import T, function

OPS: dict[str, str] = {
    "an op of no results": function("util.optimization_barrier %x : tensor<8x8xf32>"),
    "scf.if": function(
        f"""%t = scf.if %c -> {T} {{ scf.yield %mm : {T} }} else {{ scf.yield %x : {T} }}""",
        "%c: i1",
        T,
        "%t",
    ),
    "scf.while": function(
        f"""%w:2 = scf.while (%i = %n, %a = %mm) : (i32, {T}) -> (i32, {T}) {{
      %z = arith.constant 0 : i32
      %p = arith.cmpi sgt, %i, %z : i32
      scf.condition(%p) %i, %a : i32, {T}
    }} do {{
    ^bb0(%i: i32, %a: {T}):
      %one = arith.constant 1 : i32
      %j = arith.subi %i, %one : i32
      scf.yield %j, %a : i32, {T}
    }}""",
        "%n: i32",
        T,
        "%w#1",
    ),
    "scf.forall": function(
        f"""%r = scf.forall (%i) in (8) shared_outs(%o = %mme) -> ({T}) {{
      %s = tensor.extract_slice %mm[%i, 0] [1, 8] [1, 1] : {T} to tensor<1x8xf32>
      scf.forall.in_parallel {{
        tensor.parallel_insert_slice %s into %o[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into {T}
      }}
    }}""",
        "",
        T,
        "%r",
    ),
    "tensor.generate": function(
        f"""%g = tensor.generate {{
    ^bb0(%i: index, %j: index):
      %e = tensor.extract %mm[%j, %i] : {T}
      tensor.yield %e : f32
    }} : {T}""",
        "",
        T,
        "%g",
    ),
    "tensor.from_elements": function(
        "%g = tensor.from_elements %mm0, %mm0, %s : tensor<3xf32>",
        "%s: f32",
        "tensor<3xf32>",
        "%g",
    ),
    "tensor.splat": function(f"%g = tensor.splat %s : {T}", "%s: f32", T, "%g"),
    "tensor.scatter": function(
        f"""%g = tensor.scatter %r into %mm[%i] scatter_dims([0]) unique
      : (tensor<2x1x8xf32>, {T}, tensor<2x1xindex>) -> {T}""",
        "%r: tensor<2x1x8xf32>, %i: tensor<2x1xindex>",
        T,
        "%g",
    ),
    "tensor.gather": function(
        f"""%g = tensor.gather %mm[%i] gather_dims([0])
      : ({T}, tensor<2x1xindex>) -> tensor<2x1x8xf32>""",
        "%i: tensor<2x1xindex>",
        "tensor<2x1x8xf32>",
        "%g",
    ),
    "tensor.bitcast": function(
        f"%g = tensor.bitcast %mm : {T} to tensor<8x8xi32>", "", "tensor<8x8xi32>", "%g"
    ),
    "tensor.reshape": function(
        f"%g = tensor.reshape %mm(%s) : ({T}, tensor<1xi32>) -> tensor<64xf32>",
        "%s: tensor<1xi32>",
        "tensor<64xf32>",
        "%g",
    ),
    "tensor.dim and tensor.rank": function(
        f"""%c0 = arith.constant 0 : index
    %d = tensor.dim %mm, %c0 : {T}
    %r = tensor.rank %mm : {T}
    %s = arith.addi %d, %r : index""",
        "",
        "index",
        "%s",
    ),
    "a pad that is computed": function(
        f"""%p = tensor.pad %mm low[0, 0] high[0, %n] {{
    ^bb0(%i: index, %j: index):
      tensor.yield %mm0 : f32
    }} : {T} to tensor<8x?xf32>""",
        "%n: index",
        "tensor<8x?xf32>",
        "%p",
    ),
    "a pad by its index": function(
        f"""%p = tensor.pad %mm low[0, 0] high[0, 2] {{
    ^bb0(%i: index, %j: index):
      %k = arith.index_cast %j : index to i32
      %f = arith.sitofp %k : i32 to f32
      tensor.yield %f : f32
    }} : {T} to tensor<8x10xf32>""",
        "",
        "tensor<8x10xf32>",
        "%p",
    ),
    "a pad with a scalar from outside": function(
        f"""%p = tensor.pad %mm low[0, 0] high[0, 2] {{
    ^bb0(%i: index, %j: index):
      tensor.yield %s : f32
    }} : {T} to tensor<8x10xf32>""",
        "%s: f32",
        "tensor<8x10xf32>",
        "%p",
    ),
    "a slice at a computed offset": function(
        f"%p = tensor.extract_slice %mm[%n, 0] [2, 8] [1, 1] : {T} to tensor<2x8xf32>",
        "%n: index",
        "tensor<2x8xf32>",
        "%p",
    ),
    "a slice that drops dims": function(
        f"%p = tensor.extract_slice %mm[1, 0] [1, 8] [1, 1] : {T} to tensor<8xf32>",
        "",
        "tensor<8xf32>",
        "%p",
    ),
    "a dynamic dim": function(
        """%z = arith.constant 0 : index
    %n = tensor.dim %d, %z : tensor<?x8xf32>
    %e = tensor.empty(%n) : tensor<?x8xf32>
    %p = linalg.map { math.exp } ins(%d : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>)""",
        "%d: tensor<?x8xf32>",
        "tensor<?x8xf32>",
        "%p",
    ),
    "an unranked tensor": function(
        f"%p = tensor.cast %mm : {T} to tensor<*xf32>\n    "
        f"%q = tensor.cast %p : tensor<*xf32> to {T}",
        "",
        T,
        "%q",
    ),
    "a cast to a dynamic shape": function(
        f"%p = tensor.cast %mm : {T} to tensor<?x8xf32>", "", "tensor<?x8xf32>", "%p"
    ),
}
