"""What tensors of a plan hold, plans within a memory budget, and what less memory costs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from layoutopt.errors import InputError
from layoutopt.ir.affine import plain_dims
from layoutopt.ir.graph import Graph
from layoutopt.options import Budget, Options, Resource
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.planner import plan_graphs
from layoutopt.pricing.prices import Work
from layoutopt.profiles.target import load_target
from tests.made_up_prices import MadeUpPrices, structured
from tests.models import chain_of_convolutions
from tests.parsing import lifted
from tests.planning import setting

IMAGE, RESULT = 4 * 16 * 26 * 26, 4 * 8 * 24 * 24
FIRST, SECOND = 4 * 8 * 9 * 26 * 26, 4 * 16 * 9 * 24 * 24
"""Bytes of the tensors that the convolutions make, and of the copied windows ahead of both."""


@pytest.fixture(scope="module")
def graph() -> Graph:
    return lifted(chain_of_convolutions([8, 16, 8], 28))


def cost_ns(work: Work) -> int:
    """Convolutions as they are take long; copies of windows and what comes of them do not.

    Data tiling holds copies of its own, so that it is not to be one of several cheapest forms.
    """
    for op in structured(work):
        if op.data_tiled:
            return 200_000
        if not op.is_copy and any(plain_dims(m) is None for m in op.source_maps):
            return 10_000_000
    return 100_000


def unpriced(work: Work) -> int:
    """Nothing is to be priced."""
    raise AssertionError(f"expected no price to be asked for, but got {work}")


def made(graph: Graph, options: Options, price: Callable[[Work], int] = cost_ns) -> GraphPlan:
    own = setting(load_target("host"), MadeUpPrices(price), options)
    (plan,) = plan_graphs([graph], own)
    return plan


def test_a_copy_of_windows_is_held_beside_the_image_that_it_makes(graph: Graph) -> None:
    free = made(graph, Options())
    assert free.peak_bytes == SECOND + IMAGE
    assert free.space is not None
    assert free.space.peak_bytes(free.space.as_it_came) == IMAGE + RESULT


@pytest.mark.long
def test_a_budget_takes_the_copies_out_one_by_one(graph: Graph) -> None:
    """The second one reads 16 channels: its windows take more, and go first."""
    costs = []
    for size in (10 * SECOND, SECOND + IMAGE, FIRST + IMAGE, IMAGE + RESULT):
        plan = made(graph, Options(memory_budget=Budget(size)))
        assert plan.peak_bytes <= size
        assert plan.solution.gap == 0
        costs.append(plan.cost_ns)
    assert costs[0] == costs[1] < costs[2] < costs[3]
    assert costs[-1] >= 20_000_000 > 10_000_000 > costs[0]


def test_a_share_is_of_the_model_as_it_came(graph: Graph) -> None:
    as_it_came = IMAGE + RESULT
    plan = made(graph, Options(memory_budget=Budget(100, percent=True)))
    assert plan.peak_bytes == as_it_came
    with pytest.raises(InputError) as error:
        made(graph, Options(memory_budget=Budget(50, percent=True)), unpriced)
    assert str(error.value) == (
        f"--memory-budget: expected at least {as_it_came} bytes, which the plan with the least "
        f"takes, but got {as_it_came // 2}; raise it"
    )


@pytest.mark.long
def test_what_plans_with_less_cost(graph: Graph) -> None:
    plan = made(graph, Options(trade_offs=frozenset(Resource)))
    for resource in Resource:
        points = [point for point in plan.trade_offs if point.resource is resource]
        assert points[0].budget_bytes is None
        assert points[0].cost_ns == plan.cost_ns
        sizes = [point.size_bytes or 0 for point in points]
        costs = [point.cost_ns or 0 for point in points]
        assert len(points) > 1
        assert sizes == sorted(sizes, reverse=True)
        assert costs == sorted(costs)
        assert all(p.budget_bytes is None or (p.size_bytes or 0) <= p.budget_bytes for p in points)
    assert not made(graph, Options()).trade_offs
