"""What is propagated, rewritten and written for open sizes is right at numbers in their place."""

from __future__ import annotations

from collections import Counter

import pytest

from layoutopt.ir.graph import GraphBuilder, Reshape
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.size import symbol
from tests.property.rules.open_sizes import NAMES, assert_right_at, rules, run

CASES = 25
"""Of each kind; ``python -m tests.property.rules.open_sizes --cases 10000`` draws more."""


def test_every_rule_is_right_at_every_size() -> None:
    covered: Counter[str] = Counter()
    for name in NAMES:
        run(name, CASES, covered)
    assert not rules() - {*covered}


def test_a_layout_that_is_right_at_one_size_only_is_found() -> None:
    """The check can fail: a tile that fills a dim of 4 does not fill one of any size."""
    builder = GraphBuilder()
    x, y = (builder.tensor((symbol("s0", planned=4), 3), "f32") for _ in range(2))
    builder.add(Reshape(x, y))
    graph = builder.build((x,), (y,))
    tiled, plain = Layout((0, 1), (0,), (4,)), row_major(2)
    wrong = {x: tiled, y: Layout((1, 0), (0,), (4,))}
    for chosen in ({x: tiled, y: tiled}, {x: plain, y: plain}):
        assert assert_right_at(graph, chosen, {"s0": 5}) is None
    with pytest.raises((AssertionError, ValueError)):
        assert assert_right_at(graph, wrong, {"s0": 5}) is None
