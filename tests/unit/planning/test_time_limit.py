"""When the time for solving is over, the best plan that is known is used."""

from __future__ import annotations

import time

import pytest

from layoutopt.candidates.choice import Choice
from layoutopt.candidates.explore import RefusedForm
from layoutopt.candidates.identity import identity_candidates
from layoutopt.errors import SolverError
from layoutopt.ir.graph import Graph
from layoutopt.options import Effort, Objective, Options
from layoutopt.planning.answer import check_answer
from layoutopt.planning.planner import plan_graph, plan_graphs
from layoutopt.pricing.prices import Analytic
from layoutopt.pricing.source import PriceSource
from layoutopt.profiles.target import load_target
from layoutopt.report.solver import solver_report, solver_text
from layoutopt.solver import (
    Problem,
    Search,
    Solution,
    Status,
    StopReason,
    TimeLimit,
    solve,
    time_limit,
)
from layoutopt.solver.solution import no_answer
from tests.models import CONVOLUTIONS
from tests.parsing import lifted
from tests.planning import setting
from tests.unit.planning.test_lazy_pricing import HOST, MadeUp

MATMUL = """func.func @f(%x: tensor<64x64xf32>, %w: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %y = linalg.matmul ins(%x, %w : tensor<64x64xf32>, tensor<64x64xf32>)
      outs(%i : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %y : tensor<64x64xf32>
}"""
ABSENT = load_target("x86-64-avx512")
GPU = load_target("mi355x")


@pytest.fixture(scope="module")
def graph() -> Graph:
    return lifted(CONVOLUTIONS)


@pytest.fixture
def unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without time, no search finds anything."""

    def late(problem: Problem, search: Search, limit_s: float, gap: float) -> Solution:
        if limit_s > 0:
            return solve(problem, search, limit_s, gap)
        return no_answer(Status.UNKNOWN, 0.0, StopReason.TIME_LIMIT)

    monkeypatch.setattr(time_limit, "solve", late)


@pytest.mark.parametrize("search", [Search.ILP, Search.GREEDY, Search.TASO])
def test_no_time_at_all_leaves_the_model_as_it_came(
    graph: Graph, unanswered: None, search: Search
) -> None:
    options = Options(time_limit_s=0.0, search=search)
    plan = plan_graph(graph, setting(ABSENT, Analytic(ABSENT), options))
    own = identity_candidates(plan.egraph, plan.clusters)
    assert set(plan.choice.candidates) <= set(own)
    assert plan.choice.conversions == ()
    assert plan.cost_ns == plan.identity_ns
    assert plan.solution.stop_reason == StopReason.TIME_LIMIT


@pytest.mark.parametrize("search", [Search.ILP, Search.GREEDY, Search.TASO])
def test_it_is_kept_though_no_plan_with_few_conversions_is_known(
    unanswered: None, search: Search
) -> None:
    """It leaves contractions unpacked, so it is no answer of the problem: none is known."""
    options = Options(time_limit_s=0.0, objective=Objective.CONVERSIONS, search=search)
    plan = plan_graph(lifted(MATMUL), setting(GPU, Analytic(GPU), options))
    own = identity_candidates(plan.egraph, plan.clusters)
    assert plan.choice == Choice(own, ())
    assert plan.cost_ns == plan.identity_ns
    assert plan.solution == no_answer(Status.UNKNOWN, 0.0, StopReason.TIME_LIMIT)
    report = solver_report([plan], Objective.CONVERSIONS)
    assert solver_text(report, Objective.CONVERSIONS) == (
        f"Solver: UNKNOWN over {report.priced} of {report.candidates} candidates priced; no plan "
        "was found for some function, which stays as it came; 0.00 s (time limit)"
    )


def test_lazy_pricing_ends_with_the_best_plan_that_has_them(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the plans of the rounds before, and of the model as it came."""
    calls, now = 0, 0.0

    def twice(problem: Problem, search: Search, limit_s: float, gap: float) -> Solution:
        nonlocal calls, now
        calls += 1
        if calls > 2:
            now += limit_s
            return no_answer(Status.UNKNOWN, 0.0, StopReason.TIME_LIMIT)
        return solve(problem, search, limit_s, gap)

    monkeypatch.setattr(time_limit, "solve", twice)
    monkeypatch.setattr(time, "perf_counter", lambda: now)
    pricer = MadeUp(PriceSource.MEASURED, 1.0, 3.0)
    plan = plan_graph(graph, setting(HOST, pricer, Options(effort=Effort.THOROUGH)))
    assert calls in (3, 4)
    assert plan.solution.stop_reason == StopReason.TIME_LIMIT
    assert plan.identity_ns is not None
    assert plan.cost_ns <= plan.identity_ns
    assert set(plan.choice.candidates) <= set(plan.costs)
    assert plan.searched is not None
    assert not plan.searched.rounds_ended


def test_functions_share_the_limit(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    limits: list[float] = []

    def recorded(problem: Problem, search: Search, limit_s: float, gap: float) -> Solution:
        limits.append(limit_s)
        return solve(problem, search, limit_s, gap)

    monkeypatch.setattr(time_limit, "solve", recorded)
    plan_graphs([graph] * 3, setting(ABSENT, Analytic(ABSENT)))
    assert len(limits) == 3
    assert limits[0] == 60.0
    assert limits == sorted(limits, reverse=True)
    assert len(set(limits)) == 3


@pytest.mark.parametrize(
    ("reason", "advice"),
    [
        (StopReason.TIME_LIMIT, "give the solver more time with --time-limit"),
        (
            StopReason.EXHAUSTED,
            "leave --search out: this one gave up, the integer program does not",
        ),
        (StopReason.NUMERICS, "report this as a bug of layoutopt"),
    ],
)
def test_advice_fits_the_reason(reason: StopReason, advice: str) -> None:
    problem = Problem(1, frozenset(), (), (), ())
    solution = no_answer(Status.UNKNOWN, 0.0, reason)
    nothing: list[RefusedForm] = []
    with pytest.raises(SolverError) as caught:
        check_answer(problem, solution, Options(), TimeLimit(1.0), nothing)
    assert str(caught.value) == (
        f"selection: expected a consistent plan, but got unknown; {advice}"
    )
