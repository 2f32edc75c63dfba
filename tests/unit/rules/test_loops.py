"""Structured ops over part of their loops: what is cut from their operands."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from layoutopt.ir.affine import Affine, plain_map
from layoutopt.ir.graph import Slice, Structured
from layoutopt.rules.rewrites.loops import Progression, Rewriting, restricted
from tests.unit.rules.contractions import contraction, form

Part = tuple[int, ...]
"""Offset, size, stride."""


def parts(size: int, read: Affine, loops: Mapping[int, Progression]) -> list[Part]:
    """What ``y[i] = sum_k x[read] * w[k]`` over 3 i and 2 k, or fewer, cuts from x and w."""
    maps = ((read,), plain_map((1,)), plain_map((0,)))
    graph = contraction(((size,), (2,), (3,)), maps, (3, 2), "pr")
    (op,) = graph.ops
    assert isinstance(op, Structured)
    rewriting = Rewriting(graph.types)
    restricted(op, loops, rewriting)
    cuts = [op for op in rewriting.builder.ops if isinstance(op, Slice)]
    return [(*c.offsets, *rewriting.type_of(c.result).shape, *c.strides) for c in cuts]


def test_elements_behind_the_last_window_stay() -> None:
    assert parts(7, form((0, 1), (1, 1)), {}) == []


@pytest.mark.parametrize(
    ("read", "part"),
    [
        (form((0, 1), (1, 1), at=1), (1, 4, 1)),
        (form((0, 2), (1, 2)), (0, 4, 2)),
        (form((0, 3)), (0, 3, 3)),
    ],
    ids=["in front of the first window", "between elements", "between windows of one element"],
)
def test_elements_that_no_window_reads_are_cut_off(read: Affine, part: Part) -> None:
    assert parts(9, read, {}) == [part]


def test_one_element_is_cut_without_a_stride() -> None:
    once = {0: Progression(1, 1, 1), 1: Progression(1, 1, 1)}
    assert parts(7, form((0, 2), (1, 1)), once) == [(3, 1, 1), (1, 1, 1)]
