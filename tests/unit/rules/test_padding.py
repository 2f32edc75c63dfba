"""What becomes of padding in one op: proved, masked or refused."""

from __future__ import annotations

import pytest

from layoutopt.affine import identity_map, plain_map
from layoutopt.graph import Fill, Graph, GraphBuilder, IteratorType, Structured, Uninitialized
from layoutopt.layout import Layout
from layoutopt.neutral import Padding
from layoutopt.rules.propagation import propagate, relayout
from layoutopt.rules.rule import Physical, Refusal
from layoutopt.scalar import Body, ScalarOp, contraction_body

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION
ONE = ScalarOp("arith.constant", (), "f32", (("value", "1.0 : f32"),))
RELU = Body(
    ("f32", "f32"),
    (
        ScalarOp("arith.constant", (), "f32", (("value", "0.0 : f32"),)),
        ScalarOp("arith.maximumf", (0, 2), "f32"),
    ),
    (3,),
)
SHIFT = Body(("f32", "f32"), (ONE, ScalarOp("arith.addf", (0, 2), "f32")), (3,))
TILED = Layout((0, 1), (1,), (4,))


def elementwise(body: Body) -> Graph:
    g = GraphBuilder()
    x, y = g.tensor((2, 6), body.arguments[0]), g.tensor((2, 6), body.arguments[0])
    maps = (identity_map(2),) * 2
    g.add(Structured((x,), (Uninitialized(),), (y,), (2, 6), (P, P), maps, body))
    return g.build((x,), (y,))


def reduction(fold: str, start: str) -> Graph:
    g = GraphBuilder()
    x, y = g.tensor((2, 6), "f32"), g.tensor((2,), "f32")
    body = Body(("f32", "f32"), (ScalarOp(fold, (1, 0), "f32"),), (2,))
    maps = (identity_map(2), plain_map([0]))
    g.add(Structured((x,), (Fill(start),), (y,), (2, 6), (P, R), maps, body))
    return g.build((x,), (y,))


def matmul() -> Graph:
    g = GraphBuilder()
    x, w, y = (g.tensor(shape, "f32") for shape in ((2, 6), (6, 2), (2, 2)))
    maps = (plain_map([0, 2]), plain_map([2, 1]), plain_map([0, 1]))
    body = contraction_body("f32", "f32", "f32")
    g.add(Structured((x, w), (Fill("0.0 : f32"),), (y,), (2, 2, 6), (P, P, R), maps, body))
    return g.build((x, w), (y,))


def written(graph: Graph, *layouts: Layout) -> list[str] | Refusal:
    """The names of the ops in the body over these layouts, one a tensor."""
    physical = Physical(graph.types)
    refusal = relayout(graph.ops[0], dict(enumerate(layouts)), physical)
    if refusal is not None:
        return refusal
    (op,) = [op for op in physical.builder.ops if isinstance(op, Structured)]
    return [o.name for o in op.body.ops]


def test_zeros_that_stay_zeros_need_no_mask() -> None:
    assert written(elementwise(RELU), TILED, TILED) == ["arith.constant", "arith.maximumf"]


def test_zeros_that_become_ones_are_masked_where_zeros_are_promised() -> None:
    names = written(elementwise(SHIFT), TILED, TILED)
    assert not isinstance(names, Refusal)
    assert names[-1] == "arith.select"


@pytest.mark.parametrize("promise", [Padding.ONE, Padding.ANY])
def test_zeros_may_become_ones_where_ones_or_anything_are_promised(promise: Padding) -> None:
    names = written(elementwise(SHIFT), TILED, TILED.padded_with(promise))
    assert names == ["arith.constant", "arith.addf"]


def test_a_result_promises_what_it_holds() -> None:
    graph = elementwise(SHIFT)
    found = propagate(graph.ops[0], graph.types, 0, TILED)
    assert found == {0: TILED, 1: TILED.padded_with(Padding.ONE)}


@pytest.mark.parametrize(
    ("fold", "start", "held"),
    [
        ("arith.addf", "0.0 : f32", Padding.ZERO),
        ("arith.mulf", "1.0 : f32", Padding.ONE),
        ("arith.maximumf", "0xFF800000 : f32", Padding.LOWEST),
        ("arith.minimumf", "0x7F800000 : f32", Padding.HIGHEST),
    ],
)
def test_reductions_read_their_own_neutral_element_only(
    fold: str, start: str, held: Padding
) -> None:
    for padding in Padding:
        names = written(reduction(fold, start), TILED.padded_with(padding), Layout((0,)))
        assert not isinstance(names, Refusal)
        assert ("arith.select" in names) == (padding is not held), padding


def test_a_contraction_is_not_masked_but_refused() -> None:
    rhs = Layout((0, 1), (0,), (4,))
    plain = Layout((0, 1))
    assert written(matmul(), TILED, rhs, plain) == ["arith.mulf", "arith.addf"]
    assert written(matmul(), TILED.padded_with(Padding.ANY), rhs, plain) == Refusal(
        "expected zeros in the padding of a contraction, but got any and zero"
    )


def test_a_padded_loop_is_tiled_wherever_it_is_read() -> None:
    assert written(matmul(), TILED, Layout((0, 1)), Layout((0, 1))) == Refusal(
        "expected tiles of 4 wherever the padded loop d2 is read, but dim 0 is 'd2' in row-major"
    )


def test_padding_is_never_divided_by_where_processors_stop() -> None:
    body = Body(("i32", "i32"), (ScalarOp("arith.divsi", (0, 0), "i32"),), (2,))
    assert written(elementwise(body), TILED, TILED) == Refusal(
        "expected no integer division over a padded loop, but got arith.divsi"
    )


def test_a_promise_that_a_reduction_cannot_keep_is_refused() -> None:
    graph = reduction("arith.addf", "2.0 : f32")
    layout = Layout((0, 1), (0,), (4,))
    assert written(graph, layout, Layout((0,), (0,), (4,))) == Refusal(
        "expected a reduction that leaves zero in the padding of its result, but arith.addf starts"
        " from another value"
    )
