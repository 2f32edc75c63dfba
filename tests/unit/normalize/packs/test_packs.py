"""Ops over tiles become the ops over whole dims that they were made of."""

from __future__ import annotations

from random import Random

import pytest

from layoutopt.ir.graph import Graph, Pack, Pad, Reshape, Slice, Structured, Unpack, kind_name
from layoutopt.ir.named import named_op
from layoutopt.normalize.canonical_form import canonical_form
from layoutopt.oracle import evaluate
from layoutopt.rules.rule import Exactness
from tests.conformance.text import Function, Value
from tests.parsing import lifted
from tests.property.rules.equivalence import assert_same, leaves

RESULT = {0: 8, 1: 8}


def canonical(text: str) -> Graph:
    """The canonical form, which computes the same."""
    graph = lifted(text)
    found = canonical_form(graph).graph
    given = leaves(graph, Random(0))
    assert_same(graph.outputs, evaluate(found, given), evaluate(graph, given))
    return found


def mmt4d(f: Function, x: Value, w: Value, k: int, padding: float | None = 0) -> Value:
    lhs = f.pack(x, {0: 8, 1: k}, padding=padding)
    rhs = f.pack(w, {1: 8, 0: k}, (1, 0), padding=0)
    return f.matmul(lhs, rhs, "mmt4d")


def test_a_matmul_over_padded_tiles_is_the_matmul() -> None:
    f = Function("f")
    x, w = f.argument(30, 61), f.argument(61, 100)
    (op,) = canonical(f.text(f.unpack(mmt4d(f, x, w, 4), RESULT, (30, 100)))).ops
    assert isinstance(op, Structured)
    named = named_op(op)
    assert named is not None
    assert named.name == "matmul"
    assert op.domain == (30, 100, 61)


def test_two_layers_with_bias_are_plain() -> None:
    f = Function("f")
    x, w, v, bias = f.argument(9, 16), f.argument(16, 12), f.argument(12, 5), f.argument(12)
    y = mmt4d(f, x, w, 1)
    b = f.pack(bias, {0: 8}, padding=0)
    y = f.unpack(f.binary(y, b, ("a b c d", "b d", "a b c d")), RESULT, (9, 12))
    z = f.unpack(mmt4d(f, y, v, 1), RESULT, (9, 5))
    kinds = [kind_name(op) for op in canonical(f.text(z)).ops]
    assert kinds == ["contraction", "elementwise", "contraction"]


def test_padding_that_is_not_zero_stays_in_a_sum() -> None:
    f = Function("f")
    x, w = f.argument(8, 6), f.argument(8, 8)
    lhs = f.pack(x, {0: 8, 1: 4}, padding=1)
    rhs = f.pack(w, {1: 8, 0: 4}, (1, 0))
    y = f.unpack(f.matmul(lhs, rhs, "mmt4d"), RESULT, (8, 8))
    found = canonical(f.text(y))
    (product,) = [op for op in found.ops if isinstance(op, Structured)]
    assert product.domain == (8, 8, 8)
    (pad,) = [op for op in found.ops if isinstance(op, Pad)]
    assert pad.high == (0, 2)


@pytest.mark.parametrize(("padding", "size"), [(0, 61), (5, 64)])
def test_a_sum_leaves_zeros_out(padding: float, size: int) -> None:
    f = Function("f")
    y = f.pack(f.argument(16, 61), RESULT, padding=padding)
    body = ["%r = arith.addf %x0, %acc : f32"]
    total = f.generic(("a b c d", "a c"), "prpr", (y,), f.fill(0, 2, 8), body)
    found = canonical(f.text(f.unpack(total, {0: 8}, (16,))))
    (op,) = [op for op in found.ops if isinstance(op, Structured)]
    assert op.domain == (16, size)


def test_masks_of_padding_go_with_it() -> None:
    f = Function("f")
    y = f.pack(f.argument(16, 61), RESULT, padding=0)
    into = f.empty(2, 8, 8, 8)
    f.lines += [
        "%end = arith.constant 61 : index",
        "%eight = arith.constant 8 : index",
        "%one = arith.constant 1.0 : f32",
    ]
    loops = "a b c d"
    body = [
        "%o = linalg.index 1 : index",
        "%i = linalg.index 3 : index",
        "%s = arith.muli %o, %eight : index",
        "%d = arith.addi %s, %i : index",
        "%in = arith.cmpi slt, %d, %end : index",
        "%e = math.exp %x0 : f32",
        "%r = arith.select %in, %e, %one : f32",
    ]
    z = f.generic((loops, loops), "pppp", (y,), into, body)
    (op,) = canonical(f.text(f.unpack(z, RESULT, (16, 61)))).ops
    assert isinstance(op, Structured)
    assert [scalar.name for scalar in op.body.ops] == ["math.exp"]


def test_a_result_that_stays_packed_keeps_its_padding() -> None:
    f = Function("f")
    y = f.pack(f.argument(13), {0: 8}, padding=0)
    z = f.unary(f.unary(y, "math.cos"), "math.absf")
    graph = lifted(f.text(z))
    given = leaves(graph, Random(0))
    found = canonical_form(graph).graph
    assert_same(graph.outputs, evaluate(found, given), evaluate(graph, given))
    assert [kind_name(op) for op in found.ops] == ["elementwise", "elementwise", "pad", "reshape"]


def test_a_scale_for_each_tile_is_refused() -> None:
    f = Function("f")
    y = f.pack(f.argument(16), {0: 8})
    scaled = f.binary(y, f.argument(2), ("a b", "a", "a b"), "mulf")
    graph = lifted(f.text(f.unpack(scaled, {0: 8}, (16,))))
    reasons = {r.rule: r.reason for r in canonical_form(graph).refusals}
    expected = "expected each operand to be read by d0 and d1 or by neither, but one is not"
    assert reasons == {"bubble-up-unpack": expected, "push-down-pack": expected}


def test_products_by_padding_need_finite_factors() -> None:
    f = Function("f")
    lhs = f.argument(1, 2, 8, 4)
    rhs = f.pack(f.argument(6, 8), {1: 8, 0: 4}, (1, 0), padding=0)
    graph = lifted(f.text(f.unpack(f.matmul(lhs, rhs, "mmt4d"), RESULT, (8, 8))))
    assert any(isinstance(op, Slice) for op in canonical_form(graph).graph.ops)
    exact = canonical_form(graph, {*Exactness} - {Exactness.ASSUMES_FINITE})
    assert "expected an exactness that the options admit, but got 'assumes finite values'" in {
        r.reason for r in exact.refusals
    }


def test_packed_arguments_and_results_are_transposes_of_split_dims() -> None:
    f = Function("f")
    x = f.argument(2, 4, 8, 8)
    y = f.pack(f.unary(f.unpack(x, RESULT, (16, 32))), RESULT)
    found = canonical(f.text(y))
    kinds = [kind_name(op) for op in found.ops]
    assert kinds == ["copy", "reshape", "elementwise", "reshape", "copy"]
    assert not any(isinstance(op, Pack | Unpack) for op in found.ops)
    assert sum(isinstance(op, Reshape) for op in found.ops) == 2
