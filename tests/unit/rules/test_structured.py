"""Layouts through structured ops that read a tensor in an unusual way."""

from __future__ import annotations

import typing

import pytest

from layoutopt.ir.affine import plain_map
from layoutopt.ir.extension import Extension
from layoutopt.ir.graph import GraphBuilder, IteratorType, Op, Structured, Uninitialized
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, copy_body
from layoutopt.rules.propagation import RULES, propagate


@pytest.mark.parametrize(
    ("tiles", "wanted"),
    [
        ((4, 4), {0: Layout((0, 1), (0, 1), (4, 4)), 1: Layout((0,), (0,), (4,))}),
        ((4, 2), Refusal("expected one tile for loop d0, but got 4 and 2")),
    ],
)
def test_a_diagonal_is_tiled_in_both_dims(
    tiles: tuple[int, int], wanted: dict[int, Layout] | Refusal
) -> None:
    g = GraphBuilder()
    x, y = g.tensor((8, 8), "f32"), g.tensor((8,), "f32")
    op = Structured(
        (x,),
        (Uninitialized(),),
        (y,),
        (8,),
        (IteratorType.PARALLEL,),
        (plain_map([0, 0]), plain_map([0])),
        copy_body("f32"),
    )
    assert propagate(op, tuple(g.types), x, Layout((0, 1), (0, 1), tiles)) == wanted
    back = propagate(op, tuple(g.types), y, Layout((0,), (0,), (4,)))
    assert back == {x: Layout((0, 1), (0, 1), (4, 4)), y: Layout((0,), (0,), (4,))}
    assert propagate(op, tuple(g.types), y, row_major(1)) == {x: row_major(2), y: row_major(1)}


def test_every_kind_of_op_has_a_rule() -> None:
    assert {*RULES, Extension} == set(typing.get_args(Op))


def test_dims_that_the_given_layout_does_not_order_keep_their_place() -> None:
    """A bias orders the channels alone: the rows of what it is added to stay in front."""
    g = GraphBuilder()
    x, bias, y = (g.tensor(shape, "f32") for shape in ((4, 6, 3), (3,), (4, 6, 3)))
    maps = (plain_map([0, 1, 2]), plain_map([2]), plain_map([0, 1, 2]))
    body = Body(("f32",) * 3, (ScalarOp("arith.addf", (0, 1), "f32"),), (3,))
    loops = (IteratorType.PARALLEL,) * 3
    op = Structured((x, bias), (Uninitialized(),), (y,), (4, 6, 3), loops, maps, body)
    found = propagate(op, tuple(g.types), bias, row_major(1))
    assert found == {x: row_major(3), bias: row_major(1), y: row_major(3)}
