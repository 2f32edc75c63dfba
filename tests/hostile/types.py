"""Types that a graph does not hold."""

from __future__ import annotations

from tests.hostile.module import T, function

TYPES: dict[str, str] = {
    "an encoding": function(
        "util.optimization_barrier %d : tensor<4x4xf32, #enc>", "%d: tensor<4x4xf32, #enc>"
    ).replace("  func", "#enc = #iree_encoding.testing<>\n  func", 1),
    "a sparse tensor": function(
        "util.optimization_barrier %d : tensor<4x4xf32, 1 : i32>", "%d: tensor<4x4xf32, 1 : i32>"
    ),
    "a memref": function(
        """linalg.fill ins(%mm0 : f32) outs(%d : memref<8x8xf32>)
    linalg.map { math.exp } ins(%d : memref<8x8xf32>) outs(%d : memref<8x8xf32>)""",
        "%d: memref<8x8xf32>",
    ),
    "vectors": function(
        f"""%c0 = arith.constant 0 : index
    %v = vector.transfer_read %mm[%c0, %c0], %mm0 : {T}, vector<8xf32>
    %w = arith.addf %v, %v : vector<8xf32>
    %p = vector.transfer_write %w, %mm[%c0, %c0] : vector<8xf32>, {T}""",
        "",
        T,
        "%p",
    ),
    "a tensor of vectors": function(
        "util.optimization_barrier %d : tensor<4xvector<4xf32>>", "%d: tensor<4xvector<4xf32>>"
    ),
    "a tensor of index": function(
        """%e = tensor.empty() : tensor<8xindex>
    %p = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
      outs(%e : tensor<8xindex>) {
    ^bb0(%o: index):
      %i = linalg.index 0 : index
      linalg.yield %i : index
    } -> tensor<8xindex>""",
        "",
        "tensor<8xindex>",
        "%p",
    ),
    "a tensor of complex": function(
        """%e = tensor.empty() : tensor<8xcomplex<f32>>
    %p = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>],
      iterator_types = ["parallel"]}
      ins(%d : tensor<8xcomplex<f32>>) outs(%e : tensor<8xcomplex<f32>>) {
    ^bb0(%a: complex<f32>, %o: complex<f32>):
      %m = complex.mul %a, %a : complex<f32>
      linalg.yield %m : complex<f32>
    } -> tensor<8xcomplex<f32>>""",
        "%d: tensor<8xcomplex<f32>>",
        "tensor<8xcomplex<f32>>",
        "%p",
    ),
    "tuples, none and strings": function(
        """util.optimization_barrier %t : tuple<i32, f32>
    util.optimization_barrier %n : none""",
        "%t: tuple<i32, f32>, %n: none",
    ),
    "quantized types": function(
        "util.optimization_barrier %d : tensor<4x!quant.uniform<i8:f32, 2.0:3>>",
        "%d: tensor<4x!quant.uniform<i8:f32, 2.0:3>>",
    ),
    "integers of odd width": function(
        """%e = tensor.empty() : tensor<8xi3>
    %p = linalg.map { arith.addi } ins(%d, %d : tensor<8xi3>, tensor<8xi3>)
      outs(%e : tensor<8xi3>)""",
        "%d: tensor<8xi3>",
        "tensor<8xi3>",
        "%p",
    ),
    "very wide integers": function(
        """%e = tensor.empty() : tensor<8xi257>
    %c = arith.constant 123456789012345678901234567890123456789012345678901234567890 : i257
    %f = linalg.fill ins(%c : i257) outs(%e : tensor<8xi257>) -> tensor<8xi257>""",
        "",
        "tensor<8xi257>",
        "%f",
    ),
    "signed and unsigned integers": function(
        "util.optimization_barrier %d, %f : tensor<8xui8>, tensor<8xsi8>",
        "%d: tensor<8xui8>, %f: tensor<8xsi8>",
    ),
    "f80, f128 and tf32": function(
        "util.optimization_barrier %a, %b, %d : tensor<8xf80>, tensor<8xf128>, tensor<8xtf32>",
        "%a: tensor<8xf80>, %b: tensor<8xf128>, %d: tensor<8xtf32>",
    ),
    "an address space": function(
        "util.optimization_barrier %d : memref<8xf32, 3>", "%d: memref<8xf32, 3>"
    ),
}
