"""Modules with ops, types and attributes that a graph does not hold, by what is odd about them."""

from __future__ import annotations

_MATMUL = """
    %mm0 = arith.constant 0.0 : f32
    %mme = tensor.empty() : tensor<8x8xf32>
    %mmf = linalg.fill ins(%mm0 : f32) outs(%mme : tensor<8x8xf32>) -> tensor<8x8xf32>
    %mm = linalg.matmul ins(%x, %x : tensor<8x8xf32>, tensor<8x8xf32>)
      outs(%mmf : tensor<8x8xf32>) -> tensor<8x8xf32>
"""
"""What there is to plan in each of them."""


def _function(body: str, arguments: str = "", results: str = "", returned: str = "") -> str:
    more = f", {arguments}" if arguments else ""
    kinds = f", {results}" if results else ""
    names = f", {returned}" if returned else ""
    return f"""
  func.func @main(%x: tensor<8x8xf32>{more}) -> (tensor<8x8xf32>{kinds}) {{
    {_MATMUL}
    {body}
    return %mm{names} : tensor<8x8xf32>{kinds}
  }}
"""


def _read(value: str, kind: str) -> str:
    return f"util.optimization_barrier {value} : {kind}"


T = "tensor<8x8xf32>"

PLANNED: dict[str, str] = {
    "an op of no results": _function("util.optimization_barrier %x : tensor<8x8xf32>"),
    "scf.if": _function(
        f"""%t = scf.if %c -> {T} {{ scf.yield %mm : {T} }} else {{ scf.yield %x : {T} }}""",
        "%c: i1", T, "%t",
    ),
    "scf.while": _function(
        f"""%w:2 = scf.while (%i = %n, %a = %mm) : (i32, {T}) -> (i32, {T}) {{
      %z = arith.constant 0 : i32
      %p = arith.cmpi sgt, %i, %z : i32
      scf.condition(%p) %i, %a : i32, {T}
    }} do {{
    ^bb0(%i: i32, %a: {T}):
      %one = arith.constant 1 : i32
      %j = arith.subi %i, %one : i32
      scf.yield %j, %a : i32, {T}
    }}""", "%n: i32", T, "%w#1",
    ),
    "scf.forall": _function(
        f"""%r = scf.forall (%i) in (8) shared_outs(%o = %mme) -> ({T}) {{
      %s = tensor.extract_slice %mm[%i, 0] [1, 8] [1, 1] : {T} to tensor<1x8xf32>
      scf.forall.in_parallel {{
        tensor.parallel_insert_slice %s into %o[%i, 0] [1, 8] [1, 1] : tensor<1x8xf32> into {T}
      }}
    }}""", "", T, "%r",
    ),
    "tensor.generate": _function(
        f"""%g = tensor.generate {{
    ^bb0(%i: index, %j: index):
      %e = tensor.extract %mm[%j, %i] : {T}
      tensor.yield %e : f32
    }} : {T}""", "", T, "%g",
    ),
    "tensor.from_elements": _function(
        "%g = tensor.from_elements %mm0, %mm0, %s : tensor<3xf32>", "%s: f32", "tensor<3xf32>",
        "%g",
    ),
    "tensor.splat": _function(f"%g = tensor.splat %s : {T}", "%s: f32", T, "%g"),
    "tensor.scatter": _function(
        f"""%g = tensor.scatter %r into %mm[%i] scatter_dims([0]) unique
      : (tensor<2x1x8xf32>, {T}, tensor<2x1xindex>) -> {T}""",
        "%r: tensor<2x1x8xf32>, %i: tensor<2x1xindex>", T, "%g",
    ),
    "tensor.gather": _function(
        f"""%g = tensor.gather %mm[%i] gather_dims([0])
      : ({T}, tensor<2x1xindex>) -> tensor<2x1x8xf32>""",
        "%i: tensor<2x1xindex>", "tensor<2x1x8xf32>", "%g",
    ),
    "tensor.bitcast": _function(
        f"%g = tensor.bitcast %mm : {T} to tensor<8x8xi32>", "", "tensor<8x8xi32>", "%g"
    ),
    "tensor.reshape": _function(
        f"%g = tensor.reshape %mm(%s) : ({T}, tensor<1xi32>) -> tensor<64xf32>",
        "%s: tensor<1xi32>", "tensor<64xf32>", "%g",
    ),
    "tensor.dim and tensor.rank": _function(
        f"""%c0 = arith.constant 0 : index
    %d = tensor.dim %mm, %c0 : {T}
    %r = tensor.rank %mm : {T}
    %s = arith.addi %d, %r : index""", "", "index", "%s",
    ),
    "a pad that is computed": _function(
        f"""%p = tensor.pad %mm low[0, 0] high[0, %n] {{
    ^bb0(%i: index, %j: index):
      tensor.yield %mm0 : f32
    }} : {T} to tensor<8x?xf32>""", "%n: index", "tensor<8x?xf32>", "%p",
    ),
    "a pad by its index": _function(
        f"""%p = tensor.pad %mm low[0, 0] high[0, 2] {{
    ^bb0(%i: index, %j: index):
      %k = arith.index_cast %j : index to i32
      %f = arith.sitofp %k : i32 to f32
      tensor.yield %f : f32
    }} : {T} to tensor<8x10xf32>""", "", "tensor<8x10xf32>", "%p",
    ),
    "a pad with a scalar from outside": _function(
        f"""%p = tensor.pad %mm low[0, 0] high[0, 2] {{
    ^bb0(%i: index, %j: index):
      tensor.yield %s : f32
    }} : {T} to tensor<8x10xf32>""", "%s: f32", "tensor<8x10xf32>", "%p",
    ),
    "a slice at a computed offset": _function(
        f"%p = tensor.extract_slice %mm[%n, 0] [2, 8] [1, 1] : {T} to tensor<2x8xf32>",
        "%n: index", "tensor<2x8xf32>", "%p",
    ),
    "a slice that drops dims": _function(
        f"%p = tensor.extract_slice %mm[1, 0] [1, 8] [1, 1] : {T} to tensor<8xf32>",
        "", "tensor<8xf32>", "%p",
    ),
    "a dynamic dim": _function(
        """%z = arith.constant 0 : index
    %n = tensor.dim %d, %z : tensor<?x8xf32>
    %e = tensor.empty(%n) : tensor<?x8xf32>
    %p = linalg.map { math.exp } ins(%d : tensor<?x8xf32>) outs(%e : tensor<?x8xf32>)""",
        "%d: tensor<?x8xf32>", "tensor<?x8xf32>", "%p",
    ),
    "an unranked tensor": _function(
        f"%p = tensor.cast %mm : {T} to tensor<*xf32>\n    "
        f"%q = tensor.cast %p : tensor<*xf32> to {T}", "", T, "%q",
    ),
    "a cast to a dynamic shape": _function(
        f"%p = tensor.cast %mm : {T} to tensor<?x8xf32>", "", "tensor<?x8xf32>", "%p"
    ),
    "an encoding": _function(
        "util.optimization_barrier %d : tensor<4x4xf32, #enc>", "%d: tensor<4x4xf32, #enc>"
    ).replace("  func", "#enc = #iree_encoding.testing<>\n  func", 1),
    "a sparse tensor": _function(
        "util.optimization_barrier %d : tensor<4x4xf32, 1 : i32>", "%d: tensor<4x4xf32, 1 : i32>"
    ),
    "a memref": _function(
        """linalg.fill ins(%mm0 : f32) outs(%d : memref<8x8xf32>)
    linalg.map { math.exp } ins(%d : memref<8x8xf32>) outs(%d : memref<8x8xf32>)""",
        "%d: memref<8x8xf32>",
    ),
    "vectors": _function(
        f"""%c0 = arith.constant 0 : index
    %v = vector.transfer_read %mm[%c0, %c0], %mm0 : {T}, vector<8xf32>
    %w = arith.addf %v, %v : vector<8xf32>
    %p = vector.transfer_write %w, %mm[%c0, %c0] : vector<8xf32>, {T}""", "", T, "%p",
    ),
    "a tensor of vectors": _function(
        "util.optimization_barrier %d : tensor<4xvector<4xf32>>", "%d: tensor<4xvector<4xf32>>"
    ),
    "a tensor of index": _function(
        """%e = tensor.empty() : tensor<8xindex>
    %p = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
      outs(%e : tensor<8xindex>) {
    ^bb0(%o: index):
      %i = linalg.index 0 : index
      linalg.yield %i : index
    } -> tensor<8xindex>""", "", "tensor<8xindex>", "%p",
    ),
    "a tensor of complex": _function(
        """%e = tensor.empty() : tensor<8xcomplex<f32>>
    %p = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>],
      iterator_types = ["parallel"]}
      ins(%d : tensor<8xcomplex<f32>>) outs(%e : tensor<8xcomplex<f32>>) {
    ^bb0(%a: complex<f32>, %o: complex<f32>):
      %m = complex.mul %a, %a : complex<f32>
      linalg.yield %m : complex<f32>
    } -> tensor<8xcomplex<f32>>""",
        "%d: tensor<8xcomplex<f32>>", "tensor<8xcomplex<f32>>", "%p",
    ),
    "tuples, none and strings": _function(
        """util.optimization_barrier %t : tuple<i32, f32>
    util.optimization_barrier %n : none""", "%t: tuple<i32, f32>, %n: none",
    ),
    "quantized types": _function(
        "util.optimization_barrier %d : tensor<4x!quant.uniform<i8:f32, 2.0:3>>",
        "%d: tensor<4x!quant.uniform<i8:f32, 2.0:3>>",
    ),
    "integers of odd width": _function(
        """%e = tensor.empty() : tensor<8xi3>
    %p = linalg.map { arith.addi } ins(%d, %d : tensor<8xi3>, tensor<8xi3>)
      outs(%e : tensor<8xi3>)""", "%d: tensor<8xi3>", "tensor<8xi3>", "%p",
    ),
    "very wide integers": _function(
        """%e = tensor.empty() : tensor<8xi257>
    %c = arith.constant 123456789012345678901234567890123456789012345678901234567890 : i257
    %f = linalg.fill ins(%c : i257) outs(%e : tensor<8xi257>) -> tensor<8xi257>""",
        "", "tensor<8xi257>", "%f",
    ),
    "signed and unsigned integers": _function(
        "util.optimization_barrier %d, %f : tensor<8xui8>, tensor<8xsi8>",
        "%d: tensor<8xui8>, %f: tensor<8xsi8>",
    ),
    "f80, f128 and tf32": _function(
        "util.optimization_barrier %a, %b, %d : tensor<8xf80>, tensor<8xf128>, tensor<8xtf32>",
        "%a: tensor<8xf80>, %b: tensor<8xf128>, %d: tensor<8xtf32>",
    ),
    "an address space": _function(
        "util.optimization_barrier %d : memref<8xf32, 3>", "%d: memref<8xf32, 3>"
    ),
    "attributes of linalg.generic": _function(
        f"""%p = linalg.generic {{doc = "a \\"quoted\\" text\\0A", library_call = "some_call",
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"], odd = #map, also = [1, "x", unit]}}
      ins(%mm : {T}) outs(%mme : {T}) attrs = {{more}} {{
    ^bb0(%a: f32, %o: f32):
      %m = arith.mulf %a, %a fastmath<fast> : f32
      linalg.yield %m : f32
    }} -> {T}""", "", T, "%p",
    ).replace("  func", "#map = affine_map<(d0)[s0] -> (d0 floordiv s0)>\n  func", 1),
    "a map with floordiv and mod": _function(
        f"""%e = tensor.empty() : tensor<8x8x4xf32>
    %p = linalg.generic {{
      indexing_maps = [affine_map<(i, j, k) -> (i floordiv 2, j mod 4)>,
                       affine_map<(i, j, k) -> (i, j, k)>],
      iterator_types = ["parallel", "parallel", "parallel"]}}
      ins(%mm : {T}) outs(%e : tensor<8x8x4xf32>) {{
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }} -> tensor<8x8x4xf32>""", "", "tensor<8x8x4xf32>", "%p",
    ),
    "a map that runs backwards": _function(
        f"""%e = tensor.empty() : tensor<8xf32>
    %p = linalg.generic {{
      indexing_maps = [affine_map<(i) -> (-i + 7, 0)>, affine_map<(i) -> (i)>],
      iterator_types = ["parallel"]}}
      ins(%mm : {T}) outs(%e : tensor<8xf32>) {{
    ^bb0(%a: f32, %o: f32):
      linalg.yield %a : f32
    }} -> tensor<8xf32>""", "", "tensor<8xf32>", "%p",
    ),
    "a window iterator by another name": _function(
        f"""%e = tensor.empty() : tensor<8xf32>
    %p = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}}
      ins(%mm : {T}) outs(%e : tensor<8xf32>) {{
    ^bb0(%a: f32, %o: f32):
      %c = arith.cmpf une, %a, %a : f32
      %s = arith.select %c, %o, %a : f32
      linalg.yield %s : f32
    }} -> tensor<8xf32>""", "", "tensor<8xf32>", "%p",
    ),
    "a body with a region": _function(
        f"""%p = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%mm : {T}) outs(%mme : {T}) {{
    ^bb0(%a: f32, %o: f32):
      %z = arith.cmpf olt, %a, %mm0 : f32
      %m = scf.if %z -> f32 {{ scf.yield %a : f32 }} else {{ scf.yield %mm0 : f32 }}
      linalg.yield %m : f32
    }} -> {T}""", "", T, "%p",
    ),
    "a body that calls": _function(
        f"""%p = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%mm : {T}) outs(%mme : {T}) {{
    ^bb0(%a: f32, %o: f32):
      %m = func.call @other(%a) : (f32) -> f32
      linalg.yield %m : f32
    }} -> {T}""", "", T, "%p",
    ) + "func.func private @other(%a: f32) -> f32 { return %a : f32 }",
    "a body that yields what it captures": _function(
        f"""%p = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      outs(%mme : {T}) {{
    ^bb0(%o: f32):
      linalg.yield %s : f32
    }} -> {T}""", "%s: f32", T, "%p",
    ),
    "a body of index scalars from outside": _function(
        f"""%p = linalg.generic {{
      indexing_maps = [affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}}
      outs(%mme : {T}) {{
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %k = arith.addi %i, %s : index
      %m = arith.index_cast %k : index to i32
      %f = arith.sitofp %m : i32 to f32
      linalg.yield %f : f32
    }} -> {T}""", "%s: index", T, "%p",
    ),
    "a body of a number that NumPy cannot hold": _function(
        """%e = tensor.empty() : tensor<8xi64>
    %p = linalg.generic {
      indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      outs(%e : tensor<8xi64>) {
    ^bb0(%o: i64):
      %c = arith.constant 170141183460469231731687303715884105727 : i128
      %t = arith.trunci %c : i128 to i64
      linalg.yield %t : i64
    } -> tensor<8xi64>""", "", "tensor<8xi64>", "%p",
    ),
    "linalg ops without a body of their own": _function(
        f"%p = linalg.softmax dimension(1) ins(%mm : {T}) outs(%mme : {T}) -> {T}", "", T, "%p"
    ),
    "a reduction of two results": _function(
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
    }} -> (tensor<8xf32>, tensor<8xf32>)""", "", "tensor<8xf32>, tensor<8xf32>", "%p#0, %p#1",
    ),
    "iree_linalg_ext": _function(
        f"""%e = tensor.empty() : tensor<8x8xi32>
    %p:2 = iree_linalg_ext.sort dimension(1) outs(%mm, %i : {T}, tensor<8x8xi32>) {{
    ^bb0(%a: f32, %b: f32, %c: i32, %d: i32):
      %l = arith.cmpf ogt, %a, %b : f32
      iree_linalg_ext.yield %l : i1
    }} -> {T}, tensor<8x8xi32>""", "%i: tensor<8x8xi32>", T, "%p#0",
    ),
    "a constant that is a resource": _function(
        f"%p = arith.constant dense_resource<blob> : {T}", "", T, "%p"
    ),
    "a huge splat": _function(
        "%p = arith.constant dense<0.5> : tensor<65536x65536x64xf32>",
        "", "tensor<65536x65536x64xf32>", "%p",
    ),
    "constants of NaN, infinity and hex": _function(
        """%n = arith.constant dense<0x7FC00000> : tensor<8xf32>
    %i = arith.constant dense<[0x7F800000, 0xFF800000, 1.0, -0.0]> : tensor<4xf32>
    %b = arith.constant dense<[true, false]> : tensor<2xi1>""",
        "", "tensor<8xf32>, tensor<4xf32>, tensor<2xi1>", "%n, %i, %b",
    ),
    "sparse and string elements": _function(
        """%s = arith.constant sparse<[[0, 0]], 1.0> : tensor<4x4xf32>""",
        "", "tensor<4x4xf32>", "%s",
    ),
    "a result twice": _function("", "", f"{T}, {T}, {T}", "%mm, %mm, %x"),
    "arguments that nobody reads": _function("", f"%a: {T}, %b: f32, %c: index, %d: memref<4xf32>"),
    "mutable globals": """
  util.global private mutable @state = dense<0.0> : tensor<8x8xf32>
  util.global private mutable @count = 0 : i32
"""
    + _function(
        f"""%s = util.global.load @state : {T}
    %p = linalg.map {{ arith.addf }} ins(%mm, %s : {T}, {T}) outs(%mme : {T})
    util.global.store %p, @state : {T}
    %c = util.global.load @count : i32
    util.global.store %c, @count : i32""", "", T, "%p",
    ),
    "ml_program globals": """
  ml_program.global private mutable @state(dense<0.0> : tensor<8x8xf32>) : tensor<8x8xf32>
  ml_program.global private @seed(dense<1> : tensor<i64>) : tensor<i64>
"""
    + _function(
        f"""%s = ml_program.global_load @state : {T}
    %seed = ml_program.global_load_const @seed : tensor<i64>
    ml_program.global_store @state = %mm : {T}""", "", f"{T}, tensor<i64>", "%s, %seed",
    ),
    "a global load by pointer": """
  util.global private @w = dense<0.5> : tensor<8x8xf32>
"""
    + _function(
        f"""%a = util.global.address @w : !util.ptr<{T}>
    %p = util.global.load.indirect %a : !util.ptr<{T}> -> {T}""", "", T, "%p",
    ),
    "a declaration beside": _function(
        f"%p = func.call @outside(%mm) : ({T}) -> {T}", "", T, "%p"
    ) + f"func.func private @outside(%a: {T}) -> {T}",
    "a function that calls itself": _function("") + f"""
  func.func @again(%x: {T}) -> {T} {{
    {_MATMUL}
    %r = func.call @again(%mm) : ({T}) -> {T}
    return %r : {T}
  }}""",
    "functions without arguments or results": _function("") + """
  func.func @nothing() { return }
  func.func @made() -> tensor<4xf32> {
    %c = arith.constant dense<1.0> : tensor<4xf32>
    return %c : tensor<4xf32>
  }
  func.func @eaten(%a: tensor<4xf32>) { return }""",
    "branches": _function("") + f"""
  func.func @branching(%c: i1, %x: {T}) -> {T} {{
    cf.cond_br %c, ^one, ^two(%x : {T})
  ^one:
    {_MATMUL}
    cf.br ^two(%mm : {T})
  ^two(%y: {T}):
    return %y : {T}
  }}
  func.func @endless(%x: {T}) -> {T} {{
    cf.br ^one
  ^one:
    cf.br ^one
  }}""",
    "util.unreachable": _function("") + f"""
  util.func public @never(%x: {T}) -> {T} {{
    util.unreachable "never"
  }}""",
    "names that are odd": _function("").replace("@main", '@"a b/c\\22 \\E2\\82\\AC"'),
    "nested modules": "module @outer { module @inner {" + _function("") + "} "
    + _function("") + "}",
    "other symbols": _function("") + """
  util.initializer { util.return }
  flow.executable private @exe { }
  stream.executable private @sexe { }
  hal.executable private @hexe { }""",
    "attributes of the module": "module attributes {a.b = [1, 2], layoutopt.compile_flags = 3 : i32"
    "} {" + _function("") + "}",
    "asynchronous functions with fences": f"""
  util.func public @main$async(%x0: !hal.buffer_view, %w: !hal.fence, %s: !hal.fence)
      -> !hal.buffer_view {{
    %x = hal.tensor.import wait(%w) => %x0 : !hal.buffer_view -> {T}
    {_MATMUL}
    %0 = hal.tensor.barrier join(%mm : {T}) => %s : !hal.fence
    %1 = hal.tensor.export %0 : {T} -> !hal.buffer_view
    util.return %1 : !hal.buffer_view
  }}""",
    "flow ops": _function(
        f"""%a = flow.tensor.transfer %mm : {T} to #hal.device.promise<@dev>
    %b = flow.tensor.reshape %a : {T} -> tensor<64xf32>
    %c = flow.tensor.clone %b : tensor<64xf32>
    flow.tensor.trace "t" = [%c : tensor<64xf32>]""", "", "tensor<64xf32>", "%c",
    ),
    "a dispatch region of the input's own": _function(
        f"""%r = flow.dispatch.region -> ({T}) {{
      %p = linalg.map {{ math.exp }} ins(%mm : {T}) outs(%mme : {T})
      flow.return %p : {T}
    }}""", "", T, "%r",
    ),
    "checks and traces": _function(
        """cf.assert %c, "no"
    check.expect_all_true(%b) : tensor<2xi1>
    util.assume.int %i<umin = 0, umax = 10> : index""", "%c: i1, %b: tensor<2xi1>, %i: index",
    ).replace("util.assume.int %i", "%ii = util.assume.int %i"),
    "shapes": _function(
        f"""%s = shape.shape_of %mm : {T} -> tensor<2xindex>
    %n = shape.num_elements %s : tensor<2xindex> -> index""", "", "index", "%n",
    ),
    "tensors of rank 0 and of one element": _function(
        """%e = tensor.empty() : tensor<f32>
    %p = linalg.map { math.exp } ins(%d : tensor<f32>) outs(%e : tensor<f32>)
    %q = tensor.expand_shape %p [] output_shape [1, 1, 1] : tensor<f32> into tensor<1x1x1xf32>
    %r = tensor.collapse_shape %q [] : tensor<1x1x1xf32> into tensor<f32>
    %t = tensor.extract %r[] : tensor<f32>""", "%d: tensor<f32>", "f32", "%t",
    ),
    "a tensor of rank 12": _function(
        """%e = tensor.empty() : tensor<2x1x2x1x2x1x2x1x2x1x2x1xf32>
    %p = linalg.transpose ins(%d : tensor<1x2x1x2x1x2x1x2x1x2x1x2xf32>)
      outs(%e : tensor<2x1x2x1x2x1x2x1x2x1x2x1xf32>)
      permutation = [1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10]""",
        "%d: tensor<1x2x1x2x1x2x1x2x1x2x1x2xf32>", "tensor<2x1x2x1x2x1x2x1x2x1x2x1xf32>", "%p",
    ),
    "matmul of no elements": _function(
        """%e = tensor.empty() : tensor<0x4xf32>
    %p = linalg.matmul ins(%a, %b : tensor<0x8xf32>, tensor<8x4xf32>)
      outs(%e : tensor<0x4xf32>) -> tensor<0x4xf32>""",
        "%a: tensor<0x8xf32>, %b: tensor<8x4xf32>", "tensor<0x4xf32>", "%p",
    ),
    "a sum over no elements": _function(
        """%e = tensor.empty() : tensor<4x4xf32>
    %f = linalg.fill ins(%mm0 : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
    %p = linalg.matmul ins(%a, %b : tensor<4x0xf32>, tensor<0x4xf32>)
      outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>""",
        "%a: tensor<4x0xf32>, %b: tensor<0x4xf32>", "tensor<4x4xf32>", "%p",
    ),
    "packs and unpacks": _function(
        f"""%e = tensor.empty() : tensor<2x2x4x4xf32>
    %p = linalg.pack %mm inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %e
      : {T} -> tensor<2x2x4x4xf32>
    %u = linalg.unpack %p inner_dims_pos = [0, 1] inner_tiles = [4, 4] into %mme
      : tensor<2x2x4x4xf32> -> {T}""", "", T, "%u",
    ),
    "a contraction over everything": _function(
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
    }} -> tensor<f32>""", "", "tensor<f32>", "%p",
    ),
    "huge shapes": _function(
        """%e = tensor.empty() : tensor<2147483647x2147483647xf32>
    %p = linalg.map { math.exp } ins(%d : tensor<2147483647x2147483647xf32>)
      outs(%e : tensor<2147483647x2147483647xf32>)""",
        "%d: tensor<2147483647x2147483647xf32>", "tensor<2147483647x2147483647xf32>", "%p",
    ),
    "shapes beyond 64 bits": _function(
        """%e = tensor.empty() : tensor<4611686018427387904x64xf32>
    %p = linalg.map { math.exp } ins(%d : tensor<4611686018427387904x64xf32>)
      outs(%e : tensor<4611686018427387904x64xf32>)""",
        "%d: tensor<4611686018427387904x64xf32>", "tensor<4611686018427387904x64xf32>", "%p",
    ),
}  # fmt: skip
