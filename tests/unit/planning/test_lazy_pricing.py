"""Lazy pricing gives the plan that all prices give, with fewer of them."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from layoutopt.compiler.processor import Processor
from layoutopt.ir.graph import Graph, Op, Structured
from layoutopt.ir.planned_sizes import planned_for
from layoutopt.ir.types import Array
from layoutopt.mlir.module import parse_module
from layoutopt.options import Effort, Options, PlannedSize, rules_without
from layoutopt.planning import bounds, lazy_pricing
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.analytic.form import all_work
from layoutopt.pricing.analytic.lower_bound import roofs_of
from layoutopt.pricing.at_sizes import AtSizes
from layoutopt.pricing.learned import by_size, described
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.prices import Price, Pricer, Work
from layoutopt.pricing.source import PriceSource
from layoutopt.runtime.progress import Progress
from layoutopt.solver import Problem, Search, Solution, Status, StopReason, solve, time_limit
from tests.models import CONVOLUTIONS, chain_of_convolutions, chain_of_matmuls
from tests.parsing import lifted
from tests.planning import HOST as ON_THIS_MACHINE
from tests.planning import TWO_MATMULS, SizedPrices, setting
from tests.torch_graphs import input_gradient

HOST = replace(ON_THIS_MACHINE, rates=replace(ON_THIS_MACHINE.rates, gflops={"f32": 80.0}))

AVX512 = replace(HOST, registers=Processor.AVX512.registers)
LONG = 1536

ROOFS = roofs_of(HOST.rates)


class MadeUp:
    """Prices between `low` and `high` times the lower bound, the same for the same candidate."""

    def __init__(self, source: PriceSource, low: float, high: float) -> None:
        self.source = source
        self.low, self.high = low, high
        self.asked: list[str] = []
        self.said: dict[str, Price] = {}
        self.remembered: dict[str, Price] = {}

    def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
        prices = [self._price(piece) for piece in work]
        self.said |= {p.benchmark.text: price for p, price in zip(work, prices, strict=True)}
        return prices

    def stored(self, work: Sequence[Work]) -> list[Price | None]:
        return [self.remembered.get(piece.benchmark.text) for piece in work]

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        return None

    def _price(self, work: Work) -> Price:
        if work.form.is_free:
            return Price(0)
        text = work.benchmark.text
        self.asked.append(text)
        digest = hashlib.sha256(text.encode()).digest()
        if digest[1] < 12:
            return Price(None, "compile-error: made up")
        times = self.low + (self.high - self.low) * digest[0] / 255
        lower_bound_ns = sum(map(ROOFS.lower_bound_ns, all_work(work.form, HOST)))
        return Price(round(lower_bound_ns * times))


def planned(graph: Graph, pricer: Pricer, effort: Effort = Effort.THOROUGH) -> GraphPlan:
    return plan_graph(graph, setting(HOST, pricer, Options(effort=effort)))


@pytest.fixture(scope="module")
def models() -> dict[str, Graph]:
    return {
        "convolutions": lifted(CONVOLUTIONS),
        "gradient": lifted(input_gradient([4, 4], 3, 2, 1)),
    }


@pytest.mark.parametrize("name", ["convolutions", "gradient"])
@pytest.mark.parametrize(("low", "high"), [(1.0, 3.0), (0.2, 5.0)])
def test_the_answer_is_that_of_all_prices(
    models: dict[str, Graph], name: str, low: float, high: float
) -> None:
    """Also where prices turn out to be below their bounds: the bounds give way."""
    every, needed = MadeUp(PriceSource.ANALYTIC, low, high), MadeUp(PriceSource.MEASURED, low, high)
    whole, plan = planned(models[name], every), planned(models[name], needed)

    assert plan.solution.status is whole.solution.status is Status.OPTIMAL
    if low >= 1:
        assert plan.solution.objective_ns == whole.solution.objective_ns
    assert set(plan.choice.candidates) <= set(plan.costs)
    assert plan.identity_ns == whole.identity_ns
    assert len(needed.asked) == len(set(needed.asked))
    assert len(needed.asked) < len(every.asked)
    assert plan.searched is not None
    assert plan.searched.bounded > 0
    assert not plan.searched.rounds_ended


class LikeOthers(MadeUp):
    """Prices that follow from the loops of a candidate, the same for all of its sizes."""

    def _price(self, work: Work) -> Price:
        if work.form.is_free:
            return Price(0)
        self.asked.append(work.benchmark.text)
        loops = described(work, by_size(work, HOST), ROOFS, "").loops
        digest = hashlib.sha256(repr(loops).encode()).digest()
        times = self.low * (self.high / self.low) ** (digest[0] / 255)
        lower_bound_ns = sum(map(ROOFS.lower_bound_ns, all_work(work.form, HOST)))
        return Price(round(lower_bound_ns * times))


@pytest.fixture(scope="module")
def chain() -> Graph:
    """Convolutions that differ in their sizes alone."""
    return lifted(chain_of_convolutions([8, 16, 24, 32, 48, 64, 96, 128]))


@pytest.mark.long
def test_prices_tell_of_candidates_like_them(chain: Graph) -> None:
    """Less is priced the less effort there is, and the plan stays close to the cheapest."""
    plans, asked = {}, {}
    for effort in Effort:
        pricer = LikeOthers(PriceSource.MEASURED, 1.0, 16.0)
        plans[effort] = planned(chain, pricer, effort)
        asked[effort] = len(pricer.asked)
        assert set(plans[effort].choice.candidates) <= set(plans[effort].costs)
    cost_ns = {effort: plan.cost_ns for effort, plan in plans.items()}
    assert asked[Effort.QUICK] <= asked[Effort.NORMAL] < 0.8 * asked[Effort.THOROUGH]
    assert cost_ns[Effort.THOROUGH] <= cost_ns[Effort.NORMAL] <= 1.01 * cost_ns[Effort.THOROUGH]
    assert cost_ns[Effort.QUICK] <= 1.5 * cost_ns[Effort.THOROUGH]  # of prices drawn by lot


@pytest.mark.long
def test_rounds_end_where_little_is_left_to_gain(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last prices of each stage would make the plan cheaper by less than that."""
    graph = lifted(chain_of_convolutions([8, 16, 24, 32]))

    def found() -> tuple[int, int]:
        pricer = MadeUp(PriceSource.MEASURED, 1.0, 2.0)
        plan = planned(graph, pricer, Effort.NORMAL)
        return plan.cost_ns, len(pricer.asked)

    cost_ns, asked = found()
    near = lazy_pricing.NEAR[Effort.NORMAL]
    monkeypatch.setattr(lazy_pricing, "NEAR", {})
    least_ns, most = found()
    assert asked < most
    assert least_ns < cost_ns <= (1 + near) * least_ns


def test_rounds_end_with_the_gap_that_is_left(
    models: dict[str, Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy_pricing, "ROUNDS", 2)
    plan = planned(models["gradient"], MadeUp(PriceSource.MEASURED, 1.0, 3.0))
    assert plan.solution.status is Status.FEASIBLE
    assert plan.solution.objective_ns is not None
    assert 0 < plan.solution.bound_ns < plan.solution.objective_ns
    assert set(plan.choice.candidates) <= set(plan.costs)
    assert plan.searched is not None
    assert plan.searched.rounds_ended


def test_rounds_that_are_cut_short_leave_the_proof_to_the_last(
    models: dict[str, Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a round asks for needs no proof: rounds that wait for one would use up the time."""
    limits: list[float] = []

    def slow(problem: Problem, search: Search, limit_s: float, gap: float) -> Solution:
        limits.append(limit_s)
        return solve(problem, search, 0.0 if gap == lazy_pricing.GAP else limit_s, gap)

    monkeypatch.setattr(time_limit, "solve", slow)
    plan = planned(models["gradient"], MadeUp(PriceSource.MEASURED, 1.0, 3.0))
    last = limits[-1]
    whole = planned(models["gradient"], MadeUp(PriceSource.ANALYTIC, 1.0, 3.0))
    assert plan.solution.status is Status.OPTIMAL
    assert plan.solution.objective_ns == whole.solution.objective_ns
    assert limits[0] < 5 < last


def test_rounds_that_learn_too_little_take_longer(
    models: dict[str, Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each of them asks for prices that a poor plan uses, until the time is over."""
    limits: list[float] = []

    def slow(problem: Problem, search: Search, limit_s: float, gap: float) -> Solution:
        limits.append(limit_s)
        needed = 4 * lazy_pricing.asking(len(problem.candidates)).seconds
        found = solve(problem, search, limit_s if limit_s >= needed else 0.0, gap)
        late = StopReason.TIME_LIMIT
        return found if limit_s >= needed else replace(found, bound_ns=0, stop_reason=late)

    monkeypatch.setattr(time_limit, "solve", slow)
    plan = planned(models["gradient"], MadeUp(PriceSource.MEASURED, 1.0, 3.0))
    assert limits[1] == 2 * limits[0]
    assert plan.solution.status is Status.OPTIMAL


def test_rounds_that_ask_take_an_answer_that_is_close(
    models: dict[str, Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    gaps: list[float] = []

    def close(problem: Problem, search: Search, limit_s: float, gap: float) -> Solution:
        gaps.append(gap)
        found = solve(problem, search, limit_s, gap)
        if not gap or found.objective_ns is None:
            return found
        bound_ns = found.bound_ns - 1
        return replace(found, bound_ns=bound_ns, stop_reason=StopReason.CLOSE)

    monkeypatch.setattr(time_limit, "solve", close)
    plan = planned(models["gradient"], MadeUp(PriceSource.MEASURED, 1.0, 3.0))
    assert gaps[0] == lazy_pricing.asking(1).gap
    assert gaps[-1] == 0.0
    assert plan.solution.status is Status.OPTIMAL


def test_what_is_stored_takes_no_rounds(
    models: dict[str, Graph], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same plan, from one look at the store and one run of the solver."""
    cold, warm = MadeUp(PriceSource.MEASURED, 1.0, 3.0), MadeUp(PriceSource.MEASURED, 1.0, 3.0)
    plan = planned(models["gradient"], cold)
    problems: list[object] = []

    def counted(problem: Problem, search: Search, limit_s: float, gap: float) -> Solution:
        problems.append(problem)
        return solve(problem, search, limit_s, gap)

    warm.remembered = cold.said
    monkeypatch.setattr(time_limit, "solve", counted)
    again = planned(models["gradient"], warm)

    assert again.choice == plan.choice
    assert again.costs == plan.costs
    assert again.refusals == plan.refusals
    assert cold.asked
    assert not warm.asked
    assert len(problems) == 1


def test_bounds_at_several_sizes_are_means(tmp_path: Path) -> None:
    """What takes long at the first size, which hardly counts, is no reason to leave a form out."""
    (tmp_path / "model.mlir").write_text(TWO_MATMULS)
    sizes = (PlannedSize("arg0.0", (8192, 1), (1.0, 999.0)),)
    graph = planned_for(parse_module(tmp_path / "model.mlir").graphs[0], {"arg0.0": 8192})

    def tiles_pay(piece: Work, size: int) -> int:
        tiled = any(len(kind.shape) == 4 for kind in piece.form.graph.types)
        if not piece.form.weights:
            return 1_000
        return 400_000 if size > 1 else 10_000 if tiled else 60_000

    options = Options(sizes=sizes, specializations=1)
    found = plan_graph(graph, setting(HOST, AtSizes(SizedPrices(tiles_pay)), options))
    assert found.solution.status is Status.OPTIMAL
    assert all(c.form.is_packed for c in found.choice.candidates)


class OneBadTile(MadeUp):
    """Panels pay in tiles of four; of the longest sums in those of two alone."""

    def _price(self, work: Work) -> Price:
        if work.form.is_free:
            return Price(0)
        self.asked.append(work.benchmark.text)
        lower_bound_ns = sum(map(ROOFS.lower_bound_ns, all_work(work.form, AVX512)))
        return Price(round(lower_bound_ns * max(map(_times, work.form.graph.ops))))


def _times(op: Op) -> float:
    if not isinstance(op, Structured):
        return 1.0
    if op.schedule is None:
        return 6.0
    if len(op.domain) < 4:
        return 2.0
    narrow, long = op.schedule.vector[-3] == 2, op.domain[-1] == LONG
    if long:
        return 1.5 if narrow else 3.0
    return 2.1 if narrow else 1.8


def test_one_bad_tile_does_not_tell_of_the_other_where_most_could_be_gained(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    graph = lifted(chain_of_matmuls(196, [512, 640, 768, 896, LONG, 512]))

    def cost_ns() -> int | None:
        prices = OneBadTile(PriceSource.MEASURED, 1.0, 1.0)
        rules = rules_without(["reassociate-contractions"])
        options = Options(effort=Effort.NORMAL, rules=rules)
        found = plan_graph(graph, setting(AVX512, prices, options))
        return found.solution.objective_ns

    looked_at = cost_ns()
    monkeypatch.setitem(bounds._STAGES, Effort.NORMAL, bounds._STAGES[Effort.NORMAL][:2])
    trusted = cost_ns()
    assert looked_at is not None
    assert trusted is not None
    assert looked_at < trusted


class FastInOneWay(MadeUp):
    """Contractions at some times their bound with a schedule, at others without one."""

    def _price(self, work: Work) -> Price:
        if work.form.is_free:
            return Price(0)
        self.asked.append(work.benchmark.text)
        sums = [
            op for op in work.form.graph.ops if isinstance(op, Structured) and op.is_contraction
        ]
        scheduled = any(op.schedule is not None for op in sums)
        times = self.low if scheduled else self.high
        lower_bound_ns = sum(map(ROOFS.lower_bound_ns, all_work(work.form, AVX512)))
        return Price(round(lower_bound_ns * times))


MATMULS = chain_of_matmuls(196, [512, 640, 768, 896, 1024, 512])


def quickly(low: float, high: float) -> tuple[GraphPlan, FastInOneWay]:
    prices = FastInOneWay(PriceSource.MEASURED, low, high)
    options = Options(effort=Effort.QUICK)
    return plan_graph(lifted(MATMULS), setting(AVX512, prices, options)), prices


@pytest.mark.long
def test_a_quick_run_begins_with_what_is_known_of_such_processors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The model as it came is known to be slow: it is not priced, and less of the others is."""
    plan, prices = quickly(1.3, 9.0)
    assert plan.identity_ns is None
    assert all(c.form.is_scheduled for c in plan.choice.candidates)
    monkeypatch.setattr(bounds, "experiences_of", lambda target: ())
    without, others = quickly(1.3, 9.0)
    assert without.identity_ns is not None
    assert len(prices.asked) < len(others.asked)
    assert plan.cost_ns <= 1.1 * without.cost_ns


@pytest.mark.long
def test_prices_that_contradict_it_are_believed() -> None:
    plan, _ = quickly(9.0, 1.3)
    best = planned(lifted(MATMULS), FastInOneWay(PriceSource.ANALYTIC, 9.0, 1.3))
    assert plan.cost_ns <= 1.15 * best.cost_ns


@pytest.mark.long
def test_a_normal_run_leaves_out_what_is_known_to_be_slow_as_it_came() -> None:
    prices = FastInOneWay(PriceSource.MEASURED, 1.3, 9.0)
    plan = plan_graph(lifted(MATMULS), setting(AVX512, prices, Options(effort=Effort.NORMAL)))
    assert plan.identity_ns is None
    assert all(c.form.is_scheduled for c in plan.choice.candidates)
