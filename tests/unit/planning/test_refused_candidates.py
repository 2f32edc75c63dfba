"""Candidates that fail in every way there is: the plan does without them and says why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from layoutopt.candidates.explore import explore
from layoutopt.candidates.identity import identity_candidates
from layoutopt.ir.types import Array
from layoutopt.planning.planner import plan_graph
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.prices import Measured, candidate_work
from layoutopt.profiles.target import load_target
from layoutopt.runtime.outcome import Measurement, Outcome
from layoutopt.runtime.progress import Progress
from layoutopt.solver import Status
from tests.models import CONVOLUTIONS
from tests.parsing import lifted
from tests.planning import setting

HOST = load_target("host")
FAULTS = (
    Measurement(Outcome.COMPILE_ERROR, (), "exceeded stack allocation limit of 32768 bytes"),
    Measurement(Outcome.COMPILE_CRASH, (), "iree-compile crashed (SIGSEGV)"),
    Measurement(Outcome.COMPILE_TIMEOUT, (), "iree-compile did not finish within 20 s"),
    Measurement(Outcome.RUN_TIMEOUT, (), "did not finish within 10 s"),
    Measurement(Outcome.RUN_CRASH, (), "crashed (SIGSEGV)"),
    Measurement(Outcome.MISMATCH, (), "result 0: largest error 1 where the largest value is 2"),
)


class Faulty:
    """Every candidate but those of ``healthy`` fails, in all ways by turns."""

    def __init__(self, healthy: frozenset[str]) -> None:
        self.healthy = healthy

    def measure(
        self,
        benchmarks: Sequence[Benchmark],
        progress: Progress | None = None,
        group: Sequence[int] | None = None,
    ) -> list[Measurement]:
        return [
            Measurement(Outcome.OK, (5_000,) * 6)
            if benchmark.text in self.healthy
            else FAULTS[place % len(FAULTS)]
            for place, benchmark in enumerate(benchmarks)
        ]

    def known(self, benchmarks: Sequence[Benchmark]) -> list[Measurement | None]:
        return [None] * len(benchmarks)

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        return None


def identities() -> frozenset[str]:
    """The texts of the model's ops as they came."""
    space = explore(lifted(CONVOLUTIONS), HOST)
    graph, clusters = space.egraph.graph, space.clusters
    came = identity_candidates(space.egraph, clusters)
    work, _ = candidate_work(graph, clusters, came, HOST, 0)
    return frozenset(piece.benchmark.text for _, piece in work)


def test_the_plan_completes_and_names_every_fault() -> None:
    pricer = Measured(Faulty(identities()))
    plan = plan_graph(lifted(CONVOLUTIONS), setting(HOST, pricer))
    assert plan.solution.status is Status.OPTIMAL
    assert plan.identity_ns is not None
    reasons = Counter(refusal.reason for refusal in plan.refusals)
    for fault in FAULTS:
        assert reasons[f"{fault.outcome.value}: {fault.reason}"] > 0


def test_where_everything_fails_the_model_stays_as_it_came() -> None:
    pricer = Measured(Faulty(frozenset()))
    plan = plan_graph(lifted(CONVOLUTIONS), setting(HOST, pricer))
    assert plan.solution.status is Status.OPTIMAL
    used = [plan.clusters[c.cluster].root for c in plan.choice.candidates]
    assert all(root < plan.egraph.original_ops for root in used)
    assert plan.identity_ns is not None
    kept = [r.reason for r in plan.notes if r.reason.startswith("kept as it came, priced ")]
    assert len(kept) == len(used)


def test_what_does_not_compile_is_the_last_resort() -> None:
    """What keeps it from being chosen is not part of the price that is reported."""
    pricer = Measured(Faulty(frozenset()))
    plan = plan_graph(lifted(CONVOLUTIONS), setting(HOST, pricer))
    reasons = [r.reason for r in plan.notes]
    last = [r for r in reasons if r.startswith("kept as it came, priced the last resort: compile-")]
    estimated = [r for r in reasons if r.startswith("kept as it came, priced by estimate: ")]
    assert last
    assert all(": run-" in r or ": mismatch" in r for r in estimated)
    total = sum(plan.costs[c] for c in plan.choice.candidates)
    assert plan.solution.objective_ns == total == plan.identity_ns
    assert total < 10**9, "a surcharge is not a time"


class Differing(Faulty):
    """The model's own ops give other results than the oracle's."""

    def measure(
        self,
        benchmarks: Sequence[Benchmark],
        progress: Progress | None = None,
        group: Sequence[int] | None = None,
    ) -> list[Measurement]:
        note = "result 0: 4 of 8 values are wrong"
        return [
            Measurement(Outcome.OK, (5_000,) * 6, note if benchmark.as_it_came else "")
            for benchmark in benchmarks
        ]


@pytest.mark.parametrize("right_elsewhere", [True, False])
def test_what_another_device_computes_right_is_wrong_here(right_elsewhere: bool) -> None:
    """Two against one; where the other device agrees with this one, the oracle is wrong."""
    asked: list[Benchmark] = []

    def is_right(benchmark: Benchmark) -> bool:
        asked.append(benchmark)
        return right_elsewhere

    pricer = Measured(Differing(frozenset()), is_right)
    plan = plan_graph(lifted(CONVOLUTIONS), setting(HOST, pricer))
    assert asked
    assert len(asked) == len(set(asked)), "each is asked for once"
    assert all(benchmark.as_it_came for benchmark in asked)
    reasons = [r.reason for r in plan.notes]
    last = [r for r in reasons if "the last resort: right on this machine's CPU, but not on " in r]
    counted = [r for r in reasons if r.startswith("the oracle and IREE differ on it as it came")]
    assert bool(last) == right_elsewhere
    assert bool(counted) != right_elsewhere
