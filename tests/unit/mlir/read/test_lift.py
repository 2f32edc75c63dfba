"""What a function is lifted to, and why some ops stay opaque."""

import pytest

from layoutopt.ir.graph import (
    Concat,
    Constant,
    Fill,
    FromTensor,
    Graph,
    Insert,
    Opaque,
    Pad,
    Reshape,
    Slice,
    Structured,
    Uninitialized,
    kind_name,
)
from layoutopt.ir.types import TensorType
from tests.parsing import lifted

X = "tensor<4x6xf32>"
MAP = "affine_map<(i, j) -> (i, j)>"
PAR = '["parallel", "parallel"]'


def graph_of(
    body: str, result: str = X, arguments: str = f"%x: {X}, %y: {X}, %s: f32, %k: index"
) -> Graph:
    return lifted(f"func.func @f({arguments}) -> {result} {{\n{body}\nreturn %r : {result}\n}}")


@pytest.mark.parametrize(
    ("body", "result", "expected"),
    [
        (
            "%v = arith.constant 1.0 : f32\n"
            "%r = tensor.pad %x low[1, 0] high[0, 2] { ^bb0(%i: index, %j: index): "
            f"tensor.yield %v : f32 }} : {X} to tensor<5x8xf32>",
            "tensor<5x8xf32>",
            [Pad(0, 2, (1, 0), (0, 2), "1.000000e+00 : f32")],
        ),
        (
            f"%r = tensor.extract_slice %x[1, 0] [2, 3] [1, 2] : {X} to tensor<2x3xf32>",
            "tensor<2x3xf32>",
            [Slice(0, 2, (1, 0), (1, 2))],
        ),
        (
            f"%r = tensor.extract_slice %x[1, 0] [1, 6] [1, 1] : {X} to tensor<6xf32>",
            "tensor<6xf32>",
            [Slice(0, 2, (1, 0), (1, 1)), Reshape(2, 3)],
        ),
        (
            f"%q = tensor.extract_slice %x[0, 0] [4, 6] [1, 1] : {X} to {X}\n"
            f"%r = tensor.insert_slice %q into %y[0, 0] [4, 6] [1, 1] : {X} into {X}",
            X,
            [Slice(0, 2, (0, 0), (1, 1)), Insert(2, 1, 3, (0, 0), (1, 1))],
        ),
        (
            f"%r = tensor.concat dim(1) %x, %y : ({X}, {X}) -> tensor<4x12xf32>",
            "tensor<4x12xf32>",
            [Concat((0, 1), 2, 1)],
        ),
        (
            f"%r = tensor.collapse_shape %x [[0, 1]] : {X} into tensor<24xf32>",
            "tensor<24xf32>",
            [Reshape(0, 2)],
        ),
        (f"%r = tensor.cast %x : {X} to {X}", X, [Reshape(0, 2)]),
    ],
)
def test_moves(body: str, result: str, expected: list[object]) -> None:
    assert list(graph_of(body, result).ops) == expected


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (
            f"%r = linalg.generic {{indexing_maps = [{MAP}, {MAP}], iterator_types = {PAR}}} "
            f"ins(%x : {X}) outs(%y : {X}) {{\n^bb0(%a: f32, %b: f32):\n"
            f"%n = arith.index_cast %k : index to i32\n%v = arith.sitofp %n : i32 to f32\n"
            f"linalg.yield %v : f32 }} -> {X}",
            "expected a body of numbers, but it captures a value of index",
        ),
        (
            f"%r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> ()>, {MAP}], "
            f"iterator_types = {PAR}}} ins(%k : index) outs(%y : {X}) {{\n"
            f"^bb0(%a: index, %b: f32):\nlinalg.yield %b : f32 }} -> {X}",
            "expected numbers and tensors of static shape, but got index",
        ),
        (
            f"%r = linalg.generic {{indexing_maps = [{MAP}, {MAP}], iterator_types = {PAR}}} "
            f"ins(%x : {X}) outs(%y : {X}) {{\n^bb0(%a: f32, %b: f32):\n"
            "%t = arith.constant true\n"
            "%v = scf.if %t -> (f32) { scf.yield %a : f32 } else { scf.yield %b : f32 }\n"
            f"linalg.yield %v : f32 }} -> {X}",
            "expected scalar ops in the body, but got scf.if",
        ),
        (
            f"%r = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j mod 6)>, {MAP}], "
            f"iterator_types = {PAR}}} ins(%x : {X}) outs(%y : {X}) {{\n^bb0(%a: f32, %b: f32):\n"
            f"linalg.yield %a : f32 }} -> {X}",
            "expected a linear indexing map, but got 'd1 mod 6'",
        ),
        (
            f"%r = linalg.generic {{indexing_maps = [{MAP}, {MAP}], "
            'iterator_types = ["parallel", "reduction"]} '
            f"ins(%x : {X}) outs(%y : {X}) {{\n^bb0(%a: f32, %b: f32):\n"
            f"linalg.yield %a : f32 }} -> {X}",
            "expected results along all parallel loops and no other, but the reduction loop d1 is "
            "one of theirs",
        ),
        (
            f"%r = linalg.generic {{indexing_maps = [{MAP}, affine_map<(i, j) -> (i, 0)>], "
            f"iterator_types = {PAR}}} ins(%x : {X}) outs(%y : {X}) {{\n^bb0(%a: f32, %b: f32):\n"
            f"linalg.yield %a : f32 }} -> {X}",
            "expected results along all parallel loops and no other, but the parallel loop d1 is "
            "not one of theirs",
        ),
        (
            "%r = tensor.pad %x low[0, 0] high[0, 0] { ^bb0(%i: index, %j: index): "
            "%n = arith.index_cast %i : index to i32\n%v = arith.sitofp %n : i32 to f32\n"
            f"tensor.yield %v : f32 }} : {X} to {X}",
            "expected one padding value, but it is computed for each element",
        ),
        (
            "%v = arith.constant 1.0 : f32\n"
            "%r = tensor.pad %x low[1, -1] high[-1, 1] { ^bb0(%i: index, %j: index): "
            f"tensor.yield %v : f32 }} : {X} to {X}",
            "expected padding that adds elements, but got low (1, -1) high (-1, 1)",
        ),
        (
            "%i = arith.fptosi %s : f32 to i32\n%j = arith.index_cast %i : i32 to index\n"
            f"%r = tensor.extract_slice %x[%j, 0] [4, 6] [1, 1] : {X} to {X}",
            "expected a static slice, but offsets or sizes are computed",
        ),
        (
            "%i = arith.fptosi %s : f32 to i32\n%j = arith.index_cast %i : i32 to index\n"
            f"%r = tensor.insert_slice %x into %y[%j, 0] [4, 6] [1, 1] : {X} into {X}",
            "expected a static insert, but offsets or sizes are computed",
        ),
        (
            f"%r = arith.addf %x, %y : {X}",
            "expected an op of linalg or tensor, but got one that is not known here",
        ),
    ],
)
def test_reasons(body: str, reason: str) -> None:
    graph = graph_of(body)
    opaque = graph.ops[-1]
    assert isinstance(opaque, Opaque)
    assert opaque.reason == reason
    assert graph.outputs[-1] == opaque.results[0]
    assert opaque.results[0] in graph.inputs


def test_dynamic_shapes_are_named() -> None:
    dynamic = "tensor<?x6xf32>"
    body = (
        f"%r = linalg.transpose ins(%x : {dynamic}) outs(%y : tensor<6x?xf32>) permutation = [1, 0]"
    )
    graph = graph_of(body, "tensor<6x?xf32>", f"%x: {dynamic}, %y: tensor<6x?xf32>")
    assert graph.ops == (
        Opaque(
            "linalg.transpose", (), (), "expected tensors of static shape, but got tensor<6x?xf32>"
        ),
    )


@pytest.mark.parametrize(
    ("op", "reason"),
    [
        (
            "%r = tensor.empty(%n) : tensor<?x6xf32>",
            "expected tensors of static shape, but got tensor<?x6xf32>",
        ),
        (
            "%z = arith.constant 0 : index\n%r = tensor.dim %x, %z : tensor<?x6xf32>",
            "expected static shapes, but a size is asked for at run time",
        ),
        (
            "%r = func.call @f(%x, %n) : (tensor<?x6xf32>, index) -> tensor<?x6xf32>",
            "expected ops in place, but got a call: the function called is planned alone",
        ),
    ],
)
def test_what_dynamic_functions_hold_is_named(op: str, reason: str) -> None:
    result = "index" if "tensor.dim" in op else "tensor<?x6xf32>"
    last = graph_of(op, result, "%x: tensor<?x6xf32>, %n: index").ops[-1]
    assert isinstance(last, Opaque)
    assert last.reason == reason


def test_empty_tensors_are_named() -> None:
    none = "tensor<0x6xf32>"
    graph = graph_of(
        f"%r = linalg.map {{ arith.addf }} ins(%x, %x : {none}, {none}) outs(%x : {none})",
        none,
        f"%x: {none}",
    )
    (op,) = graph.ops
    assert isinstance(op, Opaque)
    assert op.reason == "expected tensors with elements, but got tensor<0x6xf32>"


@pytest.mark.parametrize(
    ("body", "opaque"),
    [
        (
            "%r = tensor.concat dim(0) %a, %x : (tensor<0x6xf32>, tensor<4x6xf32>)"
            " -> tensor<4x6xf32>",
            "tensor.concat",
        ),
        (
            "%z = arith.constant 7.0 : f32\n"
            "%r = tensor.pad %a low[1, 0] high[3, 0] { ^bb0(%i: index, %j: index): "
            "tensor.yield %z : f32 } : tensor<0x6xf32> to tensor<4x6xf32>",
            "tensor.pad",
        ),
        (
            "%r = tensor.insert_slice %a into %x[1, 0] [0, 6] [1, 1] : "
            "tensor<0x6xf32> into tensor<4x6xf32>",
            "tensor.insert_slice",
        ),
    ],
)
def test_ops_that_read_empty_tensors_stay(body: str, opaque: str) -> None:
    graph = graph_of(body, arguments="%a: tensor<0x6xf32>, %x: tensor<4x6xf32>")
    reason = "expected tensors with elements, but got tensor<0x6xf32>"
    (found,) = (op for op in graph.ops if isinstance(op, Opaque))
    assert (found.name, found.reason) == (opaque, reason)
    assert [graph.types[t].shape for t in graph.inputs] == [(4, 6), (4, 6)]


def test_a_region_that_captures_tensors_demands_them() -> None:
    graph = graph_of(
        f"%e = linalg.map {{ math.exp }} ins(%x : {X}) outs(%y : {X})\n"
        f"%r = scf.if %c -> ({X}) {{\n"
        f"  %n = linalg.map {{ arith.negf }} ins(%e : {X}) outs(%y : {X})\n"
        f"  scf.yield %n : {X}\n"
        f"}} else {{ scf.yield %x : {X} }}",
        arguments=f"%x: {X}, %y: {X}, %c: i1",
    )
    made, branch = graph.ops
    assert isinstance(made, Structured)
    assert isinstance(branch, Opaque)
    assert branch.sources == (made.results[0], 1, 0)
    assert branch.reason == (
        "expected straight-line code, but got control flow: it stays as it is inside"
    )
    assert made.results[0] in graph.outputs


@pytest.mark.parametrize(
    ("start", "init"),
    [
        (f"%i = tensor.empty() : {X}", Uninitialized()),
        (f"%i = arith.constant dense<2.0> : {X}", Fill("2.000000e+00 : f32")),
        (
            f"%v = arith.constant 3.0 : f32\n%e = tensor.empty() : {X}\n"
            f"%i = linalg.fill ins(%v : f32) outs(%e : {X}) -> {X}",
            Fill("3.000000e+00 : f32"),
        ),
        (f"%i = tensor.cast %y : {X} to {X}", FromTensor(2)),
    ],
)
def test_inits(start: str, init: object) -> None:
    graph = graph_of(
        f"{start}\n%r = linalg.matmul ins(%x, %w : {X}, tensor<6x6xf32>) outs(%i : {X}) -> {X}",
        arguments=f"%x: {X}, %y: {X}, %w: tensor<6x6xf32>"
        if "%y" not in start
        else f"%x: {X}, %w: tensor<6x6xf32>, %y: {X}",
    )
    op = graph.ops[-1]
    assert isinstance(op, Structured)
    expected = FromTensor(3) if isinstance(init, FromTensor) else init
    assert op.inits == (expected,)


def test_an_init_that_the_body_ignores_is_not_read() -> None:
    (op,) = graph_of(f"%r = linalg.map {{ math.exp }} ins(%x : {X}) outs(%y : {X})").ops
    assert isinstance(op, Structured)
    assert op.inits == (Uninitialized(),)


def test_a_fill_that_is_read_as_a_tensor_becomes_an_op() -> None:
    graph = graph_of(
        f"%v = arith.constant 3.0 : f32\n%e = tensor.empty() : {X}\n"
        f"%r = linalg.fill ins(%v : f32) outs(%e : {X}) -> {X}"
    )
    (op,) = graph.ops
    assert kind_name(op) == "fill"
    assert graph.outputs == op.outputs


def test_kinds_of_structured_ops() -> None:
    graph = graph_of(
        f"%e = tensor.empty() : tensor<6x4xf32>\n"
        f"%t = linalg.transpose ins(%x : {X}) outs(%e : tensor<6x4xf32>) permutation = [1, 0]\n"
        f"%z = arith.constant dense<0.0> : tensor<4x4xf32>\n"
        f"%m = linalg.matmul ins(%x, %t : {X}, tensor<6x4xf32>) outs(%z : tensor<4x4xf32>) "
        f"-> tensor<4x4xf32>\n"
        f"%n = linalg.map {{ arith.negf }} ins(%m : tensor<4x4xf32>) outs(%z : tensor<4x4xf32>)\n"
        f"%v = arith.constant dense<0.0> : tensor<4xf32>\n"
        f"%r = linalg.reduce ins(%n : tensor<4x4xf32>) outs(%v : tensor<4xf32>) dimensions = [0]\n"
        f"(%a: f32, %b: f32) {{ %q = arith.addf %a, %b : f32\nlinalg.yield %q : f32 }}",
        "tensor<4xf32>",
    )
    kinds = [kind_name(op) for op in graph.ops if not isinstance(op, Constant)]
    assert kinds == ["copy", "contraction", "elementwise", "reduction"]


def test_a_product_without_a_sum_is_no_contraction() -> None:
    """y = c + a * b point by point has no loop to sum over."""
    graph = graph_of(
        f"%r = linalg.generic {{indexing_maps = [{MAP}, {MAP}, {MAP}], iterator_types = {PAR}}} "
        f"ins(%x, %x : {X}, {X}) outs(%y : {X}) {{\n^bb0(%a: f32, %b: f32, %c: f32):\n"
        "%m = arith.mulf %a, %b : f32\n%v = arith.addf %c, %m : f32\n"
        f"linalg.yield %v : f32 }} -> {X}"
    )
    assert kind_name(graph.ops[0]) == "elementwise"


def test_weights_of_every_kind_are_constants() -> None:
    kind = "tensor<2xf32>"
    text = f"""
    util.global private @parameter = #stream.parameter.named<"scope"::"key"> : {kind}
    util.global private mutable @state : {kind}
    util.func public @f() -> ({kind}, {kind}, {kind}, {kind}) {{
      %a = arith.constant dense<[1.0, 2.0]> : {kind}
      %b = arith.constant dense_resource<w> : {kind}
      %c = util.global.load @parameter : {kind}
      %d = util.global.load @state : {kind}
      util.return %a, %b, %c, %d : {kind}, {kind}, {kind}, {kind}
    }}
    {{-# dialect_resources: {{ builtin: {{ w: "0x040000000000803F00000040" }} }} #-}}"""
    graph = lifted(text)
    assert graph.ops[:3] == (Constant(0), Constant(1), Constant(2))
    assert isinstance(graph.ops[3], Opaque)
    assert graph.types == (TensorType((2,), "f32"),) * 4


@pytest.mark.parametrize("load", ["util.global.load", "ml_program.global_load"])
def test_a_splat_in_a_global_is_a_fill(load: str) -> None:
    graph = lifted(_starting_from_a_global("private", load))
    (op,) = (op for op in graph.ops if isinstance(op, Structured))
    assert op.inits == (Fill("2.000000e+00 : f32"),)


def test_a_mutable_global_is_never_looked_through() -> None:
    graph = lifted(_starting_from_a_global("private mutable", "util.global.load"))
    assert isinstance(graph.ops[0], Opaque)
    (op,) = (op for op in graph.ops if isinstance(op, Structured))
    assert op.inits == (FromTensor(graph.ops[0].results[0]),)


def test_a_global_that_an_initializer_stores_holds_what_it_stores() -> None:
    store = """util.initializer {
      %c = arith.constant dense<[1.0, 3.0]> : tensor<2xf32>
      util.global.store %c, @w : tensor<2xf32>
      util.return
    }"""
    graph = lifted(store + _starting_from_a_global("private", "util.global.load"))
    (op,) = (op for op in graph.ops if isinstance(op, Structured))
    assert op.inits == (FromTensor(1),)
    assert graph.ops[0] == Constant(1)


def _starting_from_a_global(visibility: str, load: str) -> str:
    held = {
        "util.global.load": f"util.global {visibility} @w = dense<2.0> : tensor<2xf32>",
        "ml_program.global_load": f"ml_program.global {visibility} @w(dense<2.0> : tensor<2xf32>) "
        ": tensor<2xf32>",
    }[load]
    return f"""{held}
    func.func @f(%x: tensor<3x2xf32>) -> tensor<2xf32> {{
      %c = {load} @w : tensor<2xf32>
      %r = linalg.reduce ins(%x : tensor<3x2xf32>) outs(%c : tensor<2xf32>) dimensions = [0]
        (%a: f32, %b: f32) {{
          %q = arith.addf %a, %b : f32
          linalg.yield %q : f32
        }}
      return %r : tensor<2xf32>
    }}"""


def test_constants_of_complex_numbers_are_constants_as_others() -> None:
    """The bindings cannot hold their values, which are not needed."""
    graph = lifted("""
    #m = affine_map<(i) -> (i)>
    func.func @f(%x: tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>> {
      %c = arith.constant dense<(1.0,2.0)> : tensor<4xcomplex<f32>>
      %e = tensor.empty() : tensor<4xcomplex<f32>>
      %y = linalg.generic {indexing_maps = [#m, #m, #m], iterator_types = ["parallel"]}
          ins(%x, %c : tensor<4xcomplex<f32>>, tensor<4xcomplex<f32>>)
          outs(%e : tensor<4xcomplex<f32>>) {
      ^bb0(%a: complex<f32>, %k: complex<f32>, %b: complex<f32>):
        %q = complex.add %a, %k : complex<f32>
        linalg.yield %q : complex<f32>
      } -> tensor<4xcomplex<f32>>
      return %y : tensor<4xcomplex<f32>>
    }""")
    assert graph.constants == {1}
    assert graph.types[1].element == "complex<f32>"


def test_an_extension_that_is_refused_is_a_barrier() -> None:
    kind = "tensor<4x6xi32>"
    graph = lifted(
        f"func.func @f(%x: {kind}) -> {kind} {{\n"
        f"%r = linalg.softmax dimension(1) ins(%x : {kind}) outs(%x : {kind}) -> {kind}\n"
        f"return %r : {kind}\n}}"
    )
    (opaque,) = graph.ops
    assert isinstance(opaque, Opaque)
    assert opaque.reason == "expected floats, but got i32"
    assert len(graph.types) == 2, "no tensor is left behind"
