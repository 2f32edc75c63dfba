"""Random plans of random graphs with several open sizes compute the same at any numbers."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from layoutopt.candidates.candidate import physical_form
from layoutopt.candidates.explore import explore
from layoutopt.ir.concrete import concrete
from layoutopt.ir.graph import Graph
from layoutopt.ir.lowered import Lowered
from layoutopt.ir.planned_sizes import open_sizes
from layoutopt.ir.refusal import Refusal
from layoutopt.lowering.lower import lower, packs_lowered
from layoutopt.oracle import evaluate
from tests.property.layouts import assert_close
from tests.property.random_graphs import random_graph
from tests.property.random_plans import TARGETS, model_values, random_choice, without_leaves
from tests.property.rules.opened import opened_together
from tests.property.rules.symbolic import MOST

_MOST_OPS = 4
_SIZES = 3
"""How many sets of numbers each plan is compared at."""


def planned(graph: Graph, random: Random) -> Lowered | None:
    """A random plan of a graph; None where a heuristic finds none."""
    space = explore(graph, *random.choice(TARGETS))
    whole = space.egraph.graph
    written = [
        c
        for c in space.candidates
        if not isinstance(physical_form(whole, space.clusters[c.cluster], c), Refusal)
    ]
    choice = random_choice(space, written, random, ())
    return None if choice is None else lower(whole, space.clusters, choice, {})


def assert_right_at(graph: Graph, plan: Lowered, numbers: dict[str, int]) -> None:
    """The plan makes of these sizes what the graph makes of them."""
    known = concrete(graph, numbers)
    values = evaluate(without_leaves(known), model_values(known))
    taken = {place: values[tensor] for tensor, place in plan.inputs.items()}
    for weight in plan.hoisted:
        inputs = {weight.inputs[t]: values[t] for t in weight.inputs}
        taken[weight.planned_tensor] = evaluate(weight.graph, inputs)[weight.result]
    found = evaluate(without_leaves(concrete(plan.graph, numbers)), taken)
    for tensor, place in plan.outputs.items():
        assert_close(found[place], values[tensor])


def check(data: st.DataObject, seed: int, seen: Counter[str]) -> None:
    """Plan one graph and compare the plan at several sizes, all of them 1 among these."""
    random = Random(seed)
    graph = opened_together(data.draw, random_graph(random, _MOST_OPS))
    names = [s.name for s in open_sizes(graph)]
    plan = planned(graph, random) if names else None
    if plan is None:
        return
    seen["several"] += len(names) > 1
    seen["tiled"] += any(type(op).__name__ == "Pack" for op in plan.graph.ops)
    ones = dict.fromkeys(names, 1)
    for numbers in (ones, *({n: random.randint(1, MOST) for n in names} for _ in range(_SIZES))):
        for written in (plan, packs_lowered(plan)):
            assert_right_at(graph, written, numbers)


@pytest.mark.parametrize("first", [0, 1000])
def test_plans_of_several_open_sizes_are_right_at_any(first: int) -> None:
    seen: Counter[str] = Counter()

    @settings(
        max_examples=40,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data(), st.integers(first, first + 999))
    def hold(data: st.DataObject, seed: int) -> None:
        check(data, seed, seen)

    hold()
    assert seen["several"] > 3
    assert seen["tiled"] > 3
