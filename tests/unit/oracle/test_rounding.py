"""Bounds of rounding errors: what is right passes, what is wrong does not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    FromTensor,
    Graph,
    GraphBuilder,
    IteratorType,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body
from layoutopt.ir.types import Array, numpy_dtype
from layoutopt.oracle import evaluate, evaluate_bounded
from layoutopt.oracle.inputs import chosen_inputs
from layoutopt.oracle.rounding import quantum_of
from layoutopt.rules.rewrites.examples import convolution_example
from layoutopt.runtime.comparison import difference

_P, _R = IteratorType.PARALLEL, IteratorType.REDUCTION


def matmul(element: str, out: str, depth: int = 512) -> Graph:
    """A product of 4 x depth and depth x 8."""
    builder = GraphBuilder()
    x, w = builder.tensor((4, depth), element), builder.tensor((depth, 8), element)
    y = builder.tensor((4, 8), out)
    maps = (plain_map((0, 2)), plain_map((2, 1)), plain_map((0, 1)))
    start = (Fill(f"0.0 : {out}"),)
    body = contraction_body(element, element, out)
    builder.add(Structured((x, w), start, (y,), (4, 8, depth), (_P, _P, _R), maps, body))
    return builder.build((x, w), (y,))


def elementwise(name: str, *kinds: str) -> Graph:
    """One op over 64 elements; the last kind is that of the result."""
    builder = GraphBuilder()
    sources = tuple(builder.tensor((64,), kind) for kind in kinds[:-1])
    result = builder.tensor((64,), kinds[-1])
    op = ScalarOp(name, tuple(range(len(sources))), kinds[-1])
    body = Body(kinds, (op,), (len(kinds),))
    maps = (identity_map(1),) * len(kinds)
    builder.add(Structured(sources, (Uninitialized(),), (result,), (64,), (_P,), maps, body))
    return builder.build(sources, (result,))


def extreme(name: str, element: str) -> Graph:
    """The largest or smallest of each row of 3 x 50."""
    builder = GraphBuilder()
    x, y = builder.tensor((3, 50), element), builder.tensor((3,), element)
    body = Body((element,) * 2, (ScalarOp(name, (0, 1), element),), (2,))
    start = builder.tensor((3,), element)
    maps = (identity_map(2), plain_map((0,)))
    builder.add(Structured((x,), (FromTensor(start),), (y,), (3, 50), (_P, _R), maps, body))
    return builder.build((x, start), (y,))


def held(graph: Graph, got: Array, values: dict[int, Array]) -> str:
    """How a result differs from what the oracle allows."""
    out = graph.outputs[0]
    found, errors = evaluate_bounded(graph, values)
    return difference([got], [found[out]], [errors.get(out, np.zeros(()))])


@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("wide", [True, False])
def test_any_order_and_any_precision_of_a_sum_passes(element: str, wide: bool) -> None:
    """On normal numbers: in blocks, backwards, one by one in the narrow type."""
    graph = matmul(element, "f32" if wide else element)
    rng = np.random.default_rng(1)
    dtype, out = numpy_dtype(element), numpy_dtype("f32" if wide else element)
    values = {t: rng.normal(size=graph.types[t].shape).astype(dtype) for t in graph.inputs}
    lhs, rhs = values[0].astype(out), values[1].astype(out)
    terms = lhs[:, :, None] * rhs[None, :, :]
    forwards = np.zeros((4, 8), out)
    backwards = np.zeros((4, 8), out)
    for k in range(terms.shape[1]):
        forwards = (forwards + terms[:, k]).astype(out)
        backwards = (backwards + terms[:, -1 - k]).astype(out)
    exact = np.matmul(lhs.astype(np.float64), rhs.astype(np.float64)).astype(out)
    for got in (forwards, backwards, exact):
        assert held(graph, got, values) == ""


@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
def test_one_wrong_term_in_hundreds_is_caught(element: str) -> None:
    """On chosen inputs sums are exact, in narrow types too: no bound hides a missing term."""
    graph = matmul(element, element)
    values, _, errors = chosen_inputs(graph, {})
    assert errors == {}
    other = dict(values)
    k = int(np.argmax((values[0] != 0).any(0) & (values[1] != 0).any(1)))
    other[0] = values[0].copy()
    other[0][:, k] = 0
    assert "values are wrong" in held(graph, evaluate(graph, other)[2], values)
    assert held(graph, evaluate(graph, values)[2], values) == ""


def test_a_wrong_start_and_a_wrong_sign_are_caught() -> None:
    graph = convolution_example(filter_size=3, stride=1, channels=(16, 4))
    op = graph.ops[0]
    assert isinstance(op, Structured)
    values, _, _ = chosen_inputs(graph, {})
    for start in ("0.015625 : f32", "0x7FC00000 : f32", "-1.0 : f32"):
        wrong = replace(graph, ops=(replace(op, inits=(Fill(start),)),))
        assert held(graph, evaluate(wrong, values)[2], values) != ""
    negative = values | {1: -values[1]}
    assert held(graph, evaluate(graph, negative)[2], values) != ""


def test_products_of_inexact_factors_keep_a_tight_bound() -> None:
    """Numbers with all their digits: an error of one unit in the last place passes, no more."""
    graph = elementwise("arith.mulf", "f32", "f32", "f32")
    rng = np.random.default_rng(2)
    values = {t: rng.normal(size=64).astype(np.float32) for t in graph.inputs}
    exact = evaluate(graph, values)[2]
    assert held(graph, np.nextafter(exact, np.float32(np.inf)), values) == ""
    assert held(graph, exact * np.float32(1 + 1e-5), values) != ""


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("arith.divsi", ("i32", "i32", "i32")),
        ("arith.remui", ("i8", "i8", "i8")),
        ("arith.shli", ("i32", "i32", "i32")),
        ("arith.shrui", ("i8", "i8", "i8")),
        ("arith.fptoui", ("f32", "i8")),
        ("math.log", ("f32", "f32")),
        ("math.sqrt", ("bf16", "bf16")),
        ("math.acosh", ("f32", "f32")),
        ("math.atanh", ("f32", "f32")),
        ("math.acos", ("f16", "f16")),
    ],
)
def test_inputs_lie_where_an_op_is_defined(name: str, kinds: tuple[str, ...]) -> None:
    graph = elementwise(name, *kinds)
    _, values, errors = chosen_inputs(graph, {})
    out = graph.outputs[0]
    assert np.isfinite(values[out].astype(np.float64)).all()
    assert np.isfinite(errors.get(out, np.zeros(1))).all()


def test_where_nothing_is_defined_anything_is_allowed() -> None:
    graph = elementwise("arith.divsi", "i32", "i32", "i32")
    one = np.ones(64, np.int32)
    by = np.where(np.arange(64) < 2, 0, one)
    _, errors = evaluate_bounded(graph, {0: one, 1: by})
    assert np.array_equal(np.isinf(errors[2]), np.arange(64) < 2)


def test_what_is_rounded_before_a_comparison_may_fall_on_either_side() -> None:
    """floor(x * 0.1): a product off by one rounding is another whole number."""
    builder = GraphBuilder()
    x, y = builder.tensor((3,), "f32"), builder.tensor((3,), "f32")
    tenth = ScalarOp("arith.constant", (), "f32", (("value", "0.1 : f32"),))
    ops = (tenth, ScalarOp("arith.mulf", (0, 2), "f32"), ScalarOp("math.floor", (3,), "f32"))
    body, maps = Body(("f32", "f32"), ops, (4,)), (identity_map(1),) * 2
    builder.add(Structured((x,), (Uninitialized(),), (y,), (3,), (_P,), maps, body))
    graph = builder.build((x,), (y,))
    _, errors = evaluate_bounded(graph, {x: np.array([70.0, 71.0, 5.0], np.float32)})
    assert list(errors[y]) == [1.0, 0.0, 0.0]


def test_numbers_that_count_as_zero_may_be_flushed() -> None:
    graph = elementwise("arith.addf", "f32", "f32", "f32")
    tiny, nothing = np.full(64, 1e-45, np.float32), np.zeros(64, np.float32)
    assert held(graph, nothing, {0: tiny, 1: nothing}) == ""


@pytest.mark.parametrize(
    ("numbers", "quantum"),
    [
        *(([1.5, 3.0], 0.5), ([0.0], np.inf), ([6, 4], 2.0), ([np.nan, 1], 0.0)),
        *(([0.375, 8], 0.125), ([2.0**70, 2.0**80], 2.0**70), ([-(2.0**43)], 2.0**43)),
        *(([2.0**-30, 0.5], 2.0**-30), ([np.inf, 1.0], 0.0), ([-0.75, 0.0], 0.25)),
    ],
)
def test_quantum(numbers: list[float], quantum: float) -> None:
    assert quantum_of(np.array(numbers)) == quantum


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize(
    ("name", "element", "one_by_one"),
    [
        ("arith.maximumf", "f32", np.maximum),
        ("arith.minimumf", "f16", np.minimum),
        ("arith.maxnumf", "f32", np.fmax),
        ("arith.minnumf", "f32", np.fmin),
        ("arith.maxsi", "i32", np.maximum),
        ("arith.minsi", "i8", np.minimum),
    ],
)
def test_an_extreme_is_that_of_its_terms_one_by_one(
    name: str, element: str, one_by_one: np.ufunc, missing: bool
) -> None:
    graph = extreme(name, element)
    dtype = numpy_dtype(element)
    rows = np.random.default_rng(0).integers(-90, 90, (3, 50)).astype(dtype)
    start = np.array([-100, 0, 100]).astype(dtype)
    if missing and dtype is not None and dtype.kind == "f":
        rows[0, 7], rows[1, 3], start[2] = np.nan, np.inf, np.nan
    expected = start
    for column in rows.T:
        expected = one_by_one(expected, column)
    (y,) = graph.outputs
    found, errors = evaluate_bounded(graph, {0: rows, 2: start})
    np.testing.assert_array_equal(found[y], expected)
    assert y not in errors


def test_an_extreme_is_as_inexact_as_its_terms_may_be() -> None:
    graph = extreme("arith.maximumf", "f32")
    rows, start = np.full((3, 50), -1.0, np.float32), np.zeros(3, np.float32)
    rows[1, 4] = 1e-45  # may be taken for zero
    (y,) = graph.outputs
    _, errors = evaluate_bounded(graph, {0: rows, 2: start})
    assert list(errors[y] > 0) == [False, True, False]
