"""What the job does where a plan lost to one of IREE's flag sets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

import layoutopt
from layoutopt.errors import InputError, LoweringError
from layoutopt.ir.weights import ONCE, WeightReuse
from layoutopt.options import Options
from layoutopt.pipeline import attempts
from layoutopt.pipeline.stages import LoweredModel, Model
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.known_refusals import KnownRefusals
from layoutopt.profiles.target import Target
from layoutopt.runtime.sampling import WeightsFrom
from layoutopt.verification.evaluated import OPTIMIZED, Evaluation, VariantResult
from layoutopt.verification.verified import Verification
from layoutopt.verification.whole_model import Comparison, OverMemoryError
from tests.made_up_prices import MadeUpPrices

MODEL = """
func.func @main(%x: tensor<8x4xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<4x8xf32>
  %r = linalg.transpose ins(%x : tensor<8x4xf32>) outs(%e : tensor<4x8xf32>) permutation = [1, 0]
  return %r : tensor<4x8xf32>
}
"""


class Runs:
    """Comparisons that come out as they are told, in place of those of modules that run."""

    def __init__(self, plan_ms: Sequence[float], when: str, kept_for: str = "") -> None:
        self.plan_ms = list(plan_ms)
        self.when = when
        self.kept_for = kept_for
        self.priced_since: list[str] = []
        self.priced_for: list[WeightReuse] = []
        self.compared_since: list[str] = []

    @contextmanager
    def prices(
        self, target: Target, options: Options, since: str = "", weight_reuse: WeightReuse = ONCE
    ) -> Iterator[MadeUpPrices]:
        """Prices, noting how old they may be."""
        self.priced_since.append(since)
        self.priced_for.append(weight_reuse)
        yield MadeUpPrices(lambda _: 1)

    def verify(
        self, model: Model, lowered: LoweredModel, clock: object, since: str = ""
    ) -> Comparison:
        """The next time of a plan, beside a millisecond of the original."""
        self.compared_since.append(since)
        times = {"default": 1.0, OPTIMIZED: self.plan_ms[len(self.compared_since) - 1]}
        results = tuple(VariantResult(n, (), ms, ms, 0.0, 1) for n, ms in times.items())
        again = len(self.compared_since) > 1
        found = Evaluation(results, Verification("", ()), self.when)
        return Comparison(Verification("", ()), found, kept_for=self.kept_for if again else "")


def optimized(
    runs: Runs, folder: Path, patch: pytest.MonkeyPatch, options: Options | None = None
) -> layoutopt.Report:
    patch.setattr(attempts, "prices", runs.prices)
    patch.setattr(attempts, "verify", runs.verify)
    model = folder / "model.mlir"
    model.write_text(MODEL)
    return layoutopt.optimize(model, options=options or Options(remember=False)).report


def test_a_plan_that_lost_is_made_again_from_new_prices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs([2.0, 0.5], when="9999")
    report = optimized(runs, tmp_path, monkeypatch)
    first, again = runs.priced_since
    assert first == ""
    assert again.startswith("20")
    assert runs.compared_since == [first, again]
    assert report.lost_before == "2 ms, and 'default' 1 ms"
    assert report.after.measured_ms == 0.5


@pytest.mark.parametrize(("copied_mib", "plans"), [(20, 1), (21, 2)])
def test_a_plan_whose_weights_leave_the_cache_is_made_again_with_weights_from_memory(
    copied_mib: int, plans: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def place(target: Target, options: Options, reuse: WeightReuse) -> WeightsFrom:
        fits = reuse.size_bytes <= (20 << 20) + 256  # what lives in the model, beside weights
        return WeightsFrom.LAST_CACHE if fits else WeightsFrom.MEMORY

    monkeypatch.setattr(attempts, "weights_of", place)
    monkeypatch.setattr(attempts, "_copied_bytes", lambda graphs, plans: copied_mib << 20)
    runs = Runs([0.5], when="9999")
    optimized(runs, tmp_path, monkeypatch)
    assert [reuse.planned for reuse in runs.priced_for] == [False, True][:plans]


@pytest.mark.parametrize("plan_ms", [0.5, 1.0])
def test_a_plan_that_won_is_made_once(
    plan_ms: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs([plan_ms], when="9999")
    report = optimized(runs, tmp_path, monkeypatch)
    assert (runs.priced_since, report.lost_before) == ([""], "")


def test_a_loss_that_an_earlier_run_saw_is_not_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs([2.0], when="2000-01-01T00:00:00Z")
    report = optimized(runs, tmp_path, monkeypatch)
    assert (runs.priced_since, report.lost_before) == ([""], "")


def test_where_the_second_plan_cannot_be_used_the_first_one_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs([2.0, 3.0], when="9999", kept_for="iree-compile refused it")
    report = optimized(runs, tmp_path, monkeypatch)
    assert len(runs.priced_since) == 2
    assert (report.kept_for, report.lost_before) == ("", "")


def test_plans_that_hold_too_much_or_are_none_come_to_an_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In turns: a plan whose module holds too much, and a share that no plan keeps."""
    tries: list[float] = []
    plans = attempts.Attempts._plans

    def planned(
        self: attempts.Attempts, refused: KnownRefusals, since: str
    ) -> tuple[GraphPlan, ...]:
        tries.append(self.memory.share)
        if len(tries) % 2 == 0:
            raise InputError("--memory-budget", "more", "less", "raise it")
        return plans(self, refused, since)

    class TooMuch(Runs):
        def verify(
            self, model: Model, lowered: LoweredModel, clock: object, since: str = ""
        ) -> Comparison:
            raise OverMemoryError(model.path, 200, 180)

    monkeypatch.setattr(attempts.Attempts, "_plans", planned)
    monkeypatch.setattr(attempts, "keep_original", lambda *_: None)
    with pytest.raises(LoweringError, match="--memory-budget: expected a module that holds 180"):
        optimized(TooMuch([], when="9999"), tmp_path, monkeypatch)
    assert 1 < len(tries) <= 8
    assert tries[0] == 1
    assert min(tries) > 0.3


def test_shares_of_a_memory_budget_go_down_and_half_way_back() -> None:
    """Until two of them are close, or little is left of it."""
    memory = attempts.MemoryShare()
    assert memory.is_whole
    assert memory.lower_it(0.8)
    assert memory.share == pytest.approx(0.8)
    assert memory.raise_it()
    assert memory.share == pytest.approx(0.9)
    shares = [memory.share]
    while memory.raise_it():
        shares.append(memory.share)
    assert shares == sorted(shares)
    assert shares[-1] < 1
    assert not attempts.MemoryShare().lower_it(0.2)
