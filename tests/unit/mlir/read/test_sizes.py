"""Sizes that are known at run time: what the module computes of them, read as sizes."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.ir.concrete import concrete
from layoutopt.ir.extensions.attention import Attention
from layoutopt.ir.graph import Graph, Opaque, Pad, Reshape, Slice, Structured
from layoutopt.ir.planned_sizes import open_sizes, planned_for
from layoutopt.ir.size import planned, symbols
from layoutopt.mlir.module import parse_module
from tests.parsing import lifted

COPY = (
    "linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], "
    'iterator_types = ["parallel", "parallel"]} '
)


def read(
    body: str, arguments: str = "%x: tensor<?x6xf32>", result: str = "tensor<?x6xf32>"
) -> Graph:
    return lifted(
        f"func.func @f({arguments}) -> {result} {{\n%c0 = arith.constant 0 : index\n"
        f"%c1 = arith.constant 1 : index\n%c2 = arith.constant 2 : index\n"
        f"%n = tensor.dim %x, %c0 : tensor<?x6xf32>\n{body}\nreturn %r : {result}\n}}"
    )


def filled(size: str) -> str:
    """The size of a tensor of that many rows, as it is read."""
    graph = read(
        f"{size}\n%v = arith.constant 1.0 : f32\n%e = tensor.empty(%s) : tensor<?x6xf32>\n"
        "%r = linalg.fill ins(%v : f32) outs(%e : tensor<?x6xf32>) -> tensor<?x6xf32>\n"
    )
    return str(graph.types[-1].shape[0])


@pytest.mark.parametrize(
    ("computed", "size"),
    [
        ("%s = arith.addi %n, %c1 : index", "arg0.0 + 1"),
        ("%s = arith.muli %n, %c2 : index", "2*arg0.0"),
        ("%a = arith.addi %n, %c2 : index\n%s = arith.subi %a, %c2 : index", "arg0.0"),
        ("%s = affine.apply affine_map<()[a] -> (a * 4 + 1)>()[%n]", "4*arg0.0 + 1"),
        ("%s = affine.apply affine_map<(a) -> (a ceildiv 8)>(%n)", "-((-arg0.0) floordiv 8)"),
        ("%s = arith.ceildivui %n, %c2 : index", "-((-arg0.0) floordiv 2)"),
        (
            "%a = arith.subi %c0, %n : index\n%b = arith.floordivsi %a, %c2 : index\n"
            "%s = arith.subi %c0, %b : index",
            "-((-arg0.0) floordiv 2)",
        ),
        ("%s = arith.maxsi %n, %c0 : index", "arg0.0"),
        ("%a = arith.addi %n, %c1 : index\n%s = arith.minsi %a, %n : index", "arg0.0"),
        (
            "%b = arith.cmpi slt, %n, %c0 : index\n%a = arith.addi %n, %c1 : index\n"
            "%s = arith.select %b, %a, %n : index",
            "arg0.0",
        ),
        (
            "%a = arith.index_cast %n : index to i64\n%k = arith.constant 3 : i64\n"
            "%b = arith.muli %a, %k : i64\n%s = arith.index_cast %b : i64 to index",
            "3*arg0.0",
        ),
    ],
)
def test_index_arithmetic_is_read(computed: str, size: str) -> None:
    assert filled(computed) == size


def test_what_ranges_leave_open_is_a_symbol_of_its_own() -> None:
    size = filled("%k = arith.constant 64 : index\n%s = arith.minsi %n, %k : index")
    assert size.startswith("n")


def test_quotients_of_what_is_negative_are_symbols_of_their_own() -> None:
    """They are rounded towards zero, as no size is."""
    size = filled(
        "%a = arith.subi %c0, %n : index\n%b = arith.divsi %a, %c2 : index\n"
        "%s = arith.subi %c0, %b : index"
    )
    assert size.startswith("-n")


def test_what_is_stated_later_is_known_of_arguments() -> None:
    """The padded dim is the argument's own, whose range is known by now."""
    graph = read(
        "%m = util.assume.int %n<umin = 4> : index\n%v = arith.constant 0.0 : f32\n"
        "%r = tensor.pad %x low[0, 1] high[0, 1] {\n^bb0(%i: index, %j: index):\n"
        "tensor.yield %v : f32\n} : tensor<?x6xf32> to tensor<?x8xf32>\n",
        result="tensor<?x8xf32>",
    )
    assert [type(op) for op in graph.ops if not isinstance(op, Opaque)] == [Pad]
    assert graph.types[-1].shape[0] == graph.types[0].shape[0]


def test_a_reshape_behind_a_statement_is_one() -> None:
    graph = read(
        "%m = util.assume.int %n<umin = 4> : index\n%c6 = arith.constant 6 : index\n"
        "%k = arith.muli %m, %c6 : index\n%t = tensor.from_elements %k : tensor<1xindex>\n"
        "%r = tensor.reshape %x(%t) : (tensor<?x6xf32>, tensor<1xindex>) -> tensor<?xf32>\n",
        result="tensor<?xf32>",
    )
    assert [type(op) for op in graph.ops if not isinstance(op, Opaque)] == [Reshape]


def test_a_stated_range_decides() -> None:
    size = filled(
        "%m = util.assume.int %n<umin = 16, umax = 4096, udiv = 16> : index\n"
        "%s = arith.maxsi %m, %c2 : index"
    )
    assert size == "16*arg0.0/16"


def test_a_tensor_is_tied_to_the_size_that_is_assumed() -> None:
    graph = read(
        "%m = util.assume.int %n<umin = 2, umax = 64> : index\n"
        "%t = flow.tensor.tie_shape %x : tensor<?x6xf32>{%m}\n"
        f"%r = {COPY} ins(%t : tensor<?x6xf32>) outs(%t : tensor<?x6xf32>) {{\n"
        "^bb0(%a: f32, %b: f32):\n%v = arith.addf %a, %b : f32\nlinalg.yield %v : f32 }"
        " -> tensor<?x6xf32>"
    )
    assert [(s.name, s.low, s.high) for s in open_sizes(graph)] == [("arg0.0", 2, 64)]
    assert len({kind.shape for kind in graph.types}) == 1


def test_a_size_that_a_number_divides_is_planned_for_by_its_own_name() -> None:
    graph = read(
        "%m = util.assume.int %n<umin = 16, umax = 64, udiv = 16> : index\n"
        "%t = flow.tensor.tie_shape %x : tensor<?x6xf32>{%m}\n"
        f"%r = {COPY} ins(%t : tensor<?x6xf32>) outs(%t : tensor<?x6xf32>) {{\n"
        "^bb0(%a: f32, %b: f32):\n%v = arith.addf %a, %b : f32\nlinalg.yield %v : f32 }"
        " -> tensor<?x6xf32>"
    )
    assert [(s.name, s.low, s.high) for s in open_sizes(graph)] == [("arg0.0/16", 1, 4)]
    assert planned(planned_for(graph, {"arg0.0": 48}).types[-1].shape[0]) == 48


def reshaped(shape: str, result: str) -> Graph:
    """``%x`` in another shape, as torch's exporter writes it."""
    return read(
        "%k = arith.constant 2 : i64\n%three = arith.constant 3 : i64\n"
        "%i = arith.index_cast %n : index to i64\n%c6 = arith.constant 6 : i64\n"
        "%all = arith.muli %i, %c6 : i64\n%both = arith.divui %all, %c6 : i64\n"
        f"%s = tensor.from_elements {shape}\n"
        f"%r = tensor.reshape %x(%s) : (tensor<?x6xf32>, tensor<3xi64>) -> {result}\n",
        result=result,
    )


def test_a_reshape_to_sizes_that_are_listed_is_one() -> None:
    graph = reshaped("%both, %k, %three : tensor<3xi64>", "tensor<?x2x3xf32>")
    assert [type(op) for op in graph.ops] == [Reshape]
    assert str(graph.types[graph.outputs[0]].shape[0]) == "arg0.0"


def test_a_reshape_to_another_number_of_elements_stays() -> None:
    graph = reshaped("%all, %k, %three : tensor<3xi64>", "tensor<?x2x3xf32>")
    assert "expected as many elements" in next(o for o in graph.ops if isinstance(o, Opaque)).reason


def test_a_slice_bounds_the_size_it_has() -> None:
    graph = read(
        "%t = arith.constant dense<1.0> : tensor<64x6xf32>\n"
        "%s = tensor.extract_slice %t[0, 0] [%n, 6] [1, 1] : tensor<64x6xf32> to tensor<?x6xf32>\n"
        f"%r = {COPY} ins(%s : tensor<?x6xf32>) outs(%x : tensor<?x6xf32>) {{\n"
        "^bb0(%a: f32, %b: f32):\n%v = arith.addf %a, %b : f32\nlinalg.yield %v : f32 }"
        " -> tensor<?x6xf32>"
    )
    assert any(isinstance(op, Slice) for op in graph.ops)
    (size,) = open_sizes(graph)
    assert (size.name, size.low, size.high) == ("arg0.0", 0, 64)
    assert size.planned <= 64


def test_sizes_that_one_loop_has_are_one_size() -> None:
    graph = read(
        f"%r = {COPY} ins(%x : tensor<?x6xf32>) outs(%y : tensor<?x6xf32>) {{\n"
        "^bb0(%a: f32, %b: f32):\n%v = arith.addf %a, %b : f32\nlinalg.yield %v : f32 }"
        " -> tensor<?x6xf32>",
        "%x: tensor<?x6xf32>, %y: tensor<?x6xf32>",
    )
    assert len(open_sizes(graph)) == 1
    assert len({kind.shape for kind in graph.types}) == 1


def test_a_cast_states_the_size() -> None:
    graph = read(
        "%r = tensor.cast %x : tensor<?x6xf32> to tensor<4x6xf32>", result="tensor<4x6xf32>"
    )
    assert open_sizes(graph) == ()
    assert {kind.shape for kind in graph.types} == {(4, 6)}


def test_what_an_unknown_op_makes_has_sizes_of_its_own() -> None:
    graph = read(
        "%g = tensor.generate %n { ^bb0(%i: index, %j: index): %o = arith.constant 0.0 : f32\n"
        "tensor.yield %o : f32 } : tensor<?x6xf32>\n"
        f"%r = {COPY} ins(%g : tensor<?x6xf32>) outs(%g : tensor<?x6xf32>) {{\n"
        "^bb0(%a: f32, %b: f32):\n%v = arith.addf %a, %b : f32\nlinalg.yield %v : f32 }"
        " -> tensor<?x6xf32>"
    )
    assert open_sizes(graph)[0].name == "arg0.0"
    assert len(open_sizes(graph)) == 2
    assert any(isinstance(op, Structured) for op in graph.ops)


def test_a_body_reads_a_size() -> None:
    graph = read(
        "%k = arith.index_cast %n : index to i64\n%f = arith.sitofp %k : i64 to f32\n"
        f"%r = {COPY} ins(%x : tensor<?x6xf32>) outs(%x : tensor<?x6xf32>) {{\n"
        "^bb0(%a: f32, %b: f32):\n%m = arith.sitofp %k : i64 to f32\n"
        "%v = arith.divf %a, %m : f32\nlinalg.yield %v : f32 }"
        " -> tensor<?x6xf32>"
    )
    (op,) = (o for o in graph.ops if isinstance(o, Structured))
    assert [str(s.size) for s in op.body.ops if s.size is not None] == ["arg0.0"]


def test_sizes_of_no_symbol_are_refused_with_the_reason() -> None:
    graph = read(
        "%r = tensor.generate %m { ^bb0(%i: index, %j: index): %v = arith.constant 0.0 : f32\n"
        "tensor.yield %v : f32 } : tensor<?x6xf32>\n"
        "",
        "%x: tensor<?x6xf32>, %m: index",
    )
    opaque = [op for op in graph.ops if isinstance(op, Opaque)]
    assert (
        opaque[0].reason == "expected an op of linalg or tensor, but got one that is not known here"
    )


def test_the_sizes_of_keys_and_values_are_one() -> None:
    """Both are longer by one than what they were: one size, and one range."""
    graph = lifted(
        "func.func @f(%q: tensor<4x1x8xf32>, %k: tensor<4x?x8xf32>, %v: tensor<4x?x8xf32>,"
        " %new: tensor<4x1x8xf32>) -> tensor<4x1x8xf32> {\n"
        "%keys = tensor.concat dim(1) %k, %new"
        " : (tensor<4x?x8xf32>, tensor<4x1x8xf32>) -> tensor<4x?x8xf32>\n"
        "%values = tensor.concat dim(1) %v, %new"
        " : (tensor<4x?x8xf32>, tensor<4x1x8xf32>) -> tensor<4x?x8xf32>\n"
        "%scale = arith.constant 1.0 : f32\n%e = tensor.empty() : tensor<4x1x8xf32>\n"
        "%r = iree_linalg_ext.attention <indexing_maps = ["
        "affine_map<(b, m, n, k, j) -> (b, m, k)>, affine_map<(b, m, n, k, j) -> (b, j, k)>,"
        " affine_map<(b, m, n, k, j) -> (b, j, n)>, affine_map<(b, m, n, k, j) -> ()>,"
        " affine_map<(b, m, n, k, j) -> (b, m, n)>]>"
        " ins(%q, %keys, %values, %scale : tensor<4x1x8xf32>, tensor<4x?x8xf32>,"
        " tensor<4x?x8xf32>, f32) outs(%e : tensor<4x1x8xf32>) {\n"
        "^bb0(%s: f32):\niree_linalg_ext.yield %s : f32\n} -> tensor<4x1x8xf32>\n"
        "return %r : tensor<4x1x8xf32>\n}"
    )
    assert any(isinstance(op, Attention) for op in graph.ops)
    assert [s.name for s in open_sizes(graph)] == ["arg1.1"]


def test_an_offset_that_is_computed_is_a_symbol_inside_the_tensor() -> None:
    graph = lifted(
        "func.func @f(%x: tensor<16x6xf32>, %i: tensor<i32>) -> tensor<4x6xf32> {\n"
        "%v = tensor.extract %i[] : tensor<i32>\n%o = arith.index_cast %v : i32 to index\n"
        "%r = tensor.extract_slice %x[%o, 0] [4, 6] [1, 1]"
        " : tensor<16x6xf32> to tensor<4x6xf32>\nreturn %r : tensor<4x6xf32>\n}"
    )
    (op,) = (o for o in graph.ops if isinstance(o, Slice))
    (offset,) = symbols(op.offsets[0])
    assert (offset.low, offset.high, op.offsets[1]) == (0, 12, 0)
    assert open_sizes(graph) == ()
    (at_place,) = (o for o in concrete(graph, {offset.name: 5}).ops if isinstance(o, Slice))
    assert at_place.offsets == (5, 0)


def test_a_size_that_a_number_divides_is_that_of_a_later_argument(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(
        """
func.func @main(%x: tensor<4x?xf32>, %y: tensor<?x4xf32>, %z: tensor<4x4xf32>)
    -> (tensor<4x4xf32>, index) {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<4x?xf32>
  %s = util.assume.int %n<umin = 8, umax = 40, udiv = 8> : index
  %r = linalg.matmul ins(%x, %y : tensor<4x?xf32>, tensor<?x4xf32>)
      outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r, %s : tensor<4x4xf32>, index
}
"""
    )
    (graph,) = parse_module(path).graphs
    assert {str(n) for kind in graph.types for n in kind.shape} == {"4", "8*arg0.1/8"}


def test_a_size_that_is_one_less_is_not_negative(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(
        """
func.func @main(%x: tensor<4x?xf32>, %y: tensor<?x4xf32>, %z: tensor<4x4xf32>)
    -> tensor<4x4xf32> {
  %c1 = arith.constant 1 : index
  %n = tensor.dim %x, %c1 : tensor<4x?xf32>
  %s = arith.subi %n, %c1 : index
  %p = tensor.extract_slice %x[0, 0] [4, %s] [1, 1] : tensor<4x?xf32> to tensor<4x?xf32>
  %r = linalg.matmul ins(%p, %y : tensor<4x?xf32>, tensor<?x4xf32>)
      outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
  return %r : tensor<4x4xf32>
}
"""
    )
    (graph,) = parse_module(path).graphs
    assert {str(n) for kind in graph.types for n in kind.shape} == {"4", "arg0.1", "arg0.1 - 1"}
