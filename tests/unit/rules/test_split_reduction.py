"""Which sums are split, and along which loop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from layoutopt.ir.affine import plain_map
from layoutopt.ir.graph import FromTensor, Graph, Op, Reshape, Structured, Uninitialized
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.rules.rewrites.split_reduction import SplitReduction, _divisors
from layoutopt.rules.rule import Expression, apply
from tests.unit.rules.contractions import contraction, form

RULE = SplitReduction()
LONG = 4 * RULE.least
MATMUL = contraction(
    ((2, LONG), (LONG, 3), (2, 3)),
    (plain_map((0, 2)), plain_map((2, 1)), plain_map((0, 1))),
    (2, 3, LONG),
    "ppr",
)


def changed(graph: Graph, **fields: Any) -> Graph:
    (op,) = graph.ops
    return replace(graph, ops=(replace(op, **fields),))


def made(graph: Graph) -> tuple[Op, ...]:
    found = apply(RULE, graph, 0)
    assert isinstance(found, Expression)
    return found.ops


def test_all_divisors_are_tried() -> None:
    assert [_divisors(n) for n in (1, 4, 12, 13)] == [[1], [1, 2, 4], [1, 2, 3, 4, 6, 12], [1, 13]]


def test_parts_are_as_short_as_they_may_be() -> None:
    *_, partial, _ = (op for op in made(MATMUL) if isinstance(op, Structured))
    assert partial.domain == (2, 3, RULE.least, 4)


def test_positions_and_sums_that_start_from_nothing_are_left_alone() -> None:
    index = Body(
        ("f32", "f32", "f32"),
        (
            ScalarOp("linalg.index", (), "index", (("dim", "0"),)),
            ScalarOp("arith.mulf", (0, 1), "f32"),
            ScalarOp("arith.addf", (2, 4), "f32"),
        ),
        (5,),
    )
    assert RULE.match(MATMUL, 0) is not None
    assert RULE.match(changed(MATMUL, body=index), 0) is None
    assert RULE.match(changed(MATMUL, inits=(Uninitialized(),)), 0) is None


def test_sums_that_must_not_overflow_keep_their_order() -> None:
    """Another order may overflow where this one does not."""
    graph = contraction(
        [kind.shape for kind in MATMUL.types],
        (plain_map((0, 2)), plain_map((2, 1)), plain_map((0, 1))),
        (2, 3, LONG),
        "ppr",
        element="i32",
    )
    (op,) = graph.ops
    assert isinstance(op, Structured)
    assert isinstance(apply(RULE, graph, 0), Expression)
    flags = (("overflowFlags", "#arith.overflow<nsw>"),)
    *before, add = op.body.ops
    strict = changed(graph, body=replace(op.body, ops=(*before, replace(add, attributes=flags))))
    refusal = apply(RULE, strict, 0)
    assert refusal == Refusal("expected sums that may be added up in any order")


@pytest.mark.parametrize(
    ("shape", "read"),
    [
        ((LONG, LONG), (form((2, 1)), form((2, 1)))),  # the diagonal
        ((2, LONG + 1), (form((0, 1)), form((0, 1), (2, 1)))),  # a window
    ],
)
def test_a_loop_that_shares_a_dim_is_not_split(shape: tuple[int, ...], read: Any) -> None:
    maps = (read, plain_map((2, 1)), plain_map((0, 1)))
    graph = contraction((shape, (LONG, 3), (2, 3)), maps, (2, 3, LONG), "ppr")
    assert RULE.match(graph, 0) is None


def test_an_operand_without_the_loop_is_read_as_it_is() -> None:
    maps = (plain_map((0, 2)), plain_map((1,)), plain_map((0, 1)))
    graph = contraction(((64, LONG), (3,), (64, 3)), maps, (64, 3, LONG), "ppr")
    ops = made(graph)
    assert [op.source for op in ops if isinstance(op, Reshape)] == [graph.inputs[0]]
    partial = next(op for op in ops if isinstance(op, Structured))
    assert partial.sources[1] == graph.inputs[1]


def test_what_the_sum_starts_from_is_added_once() -> None:
    graph = changed(MATMUL, inits=(FromTensor(2),))
    partial, total = (op for op in made(graph) if isinstance(op, Structured))
    assert not isinstance(partial.inits[0], FromTensor)
    assert total.inits == (FromTensor(2),)
