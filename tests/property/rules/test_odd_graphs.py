"""Every rule and pass, and every layout, on graphs that no importer writes.

The same graphs every time: what fails is named by its number.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from random import Random

import pytest

from layoutopt.ir.graph import Graph
from layoutopt.oracle import evaluate
from layoutopt.rules.rule import Exactness, Expression, apply
from tests.property.rules.equivalence import (
    PASSES,
    assert_passed,
    assert_rewritten,
    assert_ways,
    leaves,
)
from tests.property.rules.odd import odd_graph
from tests.property.rules.relaid import relaid_at_random, wild_leaves
from tests.property.rules.short_splits import RULES

GRAPHS = 100
BLOCKS = range(8)


def odd_graphs(block: int) -> Iterator[tuple[int, Graph]]:
    for seed in range(block * GRAPHS, (block + 1) * GRAPHS):
        yield seed, odd_graph(Random(seed))


@pytest.mark.parametrize("block", BLOCKS)
def test_rules_are_sound_on_odd_graphs(block: int) -> None:
    for seed, graph in odd_graphs(block):
        values = evaluate(graph, leaves(graph, Random(seed)))
        for op in range(len(graph.ops)):
            for rule in RULES:
                found = apply(rule, graph, op)
                if isinstance(found, Expression):
                    assert_rewritten(graph, op, found, values)


@pytest.mark.parametrize("block", BLOCKS)
def test_exact_rules_keep_infinities_of_odd_graphs(block: int) -> None:
    exact = [rule for rule in RULES if rule.exactness is Exactness.BIT_EXACT]
    for seed, graph in odd_graphs(block):
        values = evaluate(graph, wild_leaves(graph, Random(seed)))
        for op in range(len(graph.ops)):
            for rule in exact:
                found = apply(rule, graph, op)
                if isinstance(found, Expression):
                    assert_rewritten(graph, op, found, values)


@pytest.mark.parametrize("block", BLOCKS)
def test_odd_graphs_saturate_and_pass_every_pass(block: int) -> None:
    for seed, graph in odd_graphs(block):
        values = leaves(graph, Random(seed))
        wanted = evaluate(graph, values)
        for change in PASSES.values():
            assert_passed(graph, change(graph), values, wanted)
        if seed % 3 == 0:
            assert_ways(graph, values)


@pytest.mark.parametrize("block", BLOCKS)
def test_ops_of_odd_graphs_take_any_layouts_or_refuse_them(block: int) -> None:
    for seed, graph in odd_graphs(block):
        random = Random(seed)
        values = evaluate(graph, wild_leaves(graph, random))
        for op in graph.ops:
            relaid_at_random(graph.types, op, values, random)


def test_odd_graphs_reach_every_rule() -> None:
    fired: Counter[str] = Counter()
    for seed in range(4 * GRAPHS, 16 * GRAPHS):
        graph = odd_graph(Random(seed))
        for op in range(len(graph.ops)):
            for rule in RULES:
                fired[rule.name] += isinstance(apply(rule, graph, op), Expression)
    assert {rule.name for rule in RULES} - {*+fired} == set()
