"""Devices that are not here, and drivers that tell less: as far as a machine without them goes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

import layoutopt
from layoutopt.candidates.explore import explore
from layoutopt.compiler.installed import quirks
from layoutopt.errors import InputError
from layoutopt.mlir.module import parse_module
from layoutopt.mlir.write.many_launches import Launches, with_many_launches
from layoutopt.options import Options
from layoutopt.pricing.measure.batch import function_name, make_batches, write_module
from layoutopt.pricing.measure.compile_many import compile_many
from layoutopt.pricing.measure.measure import Measurer, MeasureSetting
from layoutopt.pricing.prices import candidate_work
from layoutopt.profiles.store import Store
from layoutopt.profiles.target import load_target
from layoutopt.report.build import build_report
from layoutopt.report.headline import headline
from layoutopt.report.optimization_result import OptimizationResult
from layoutopt.report.report import Report
from layoutopt.report.units import milliseconds
from layoutopt.runtime import dispatch
from layoutopt.runtime.compile import Phase, compile_candidates, up_to
from layoutopt.runtime.setting import RunSetting
from layoutopt.verification.evaluated import OPTIMIZED, Variant
from layoutopt.verification.evaluation import EvaluationSetting, evaluate_variants
from layoutopt.verification.subjects import subjects_of
from tests.parsing import lifted
from tests.running import no_oracle

MATMUL = """
func.func @dense(%x: tensor<64x32xf16>, %w: tensor<32x64xf16>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<64x64xf32>) -> tensor<64x64xf32>
  %m = linalg.matmul ins(%x, %w : tensor<64x32xf16>, tensor<32x64xf16>)
      outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %m : tensor<64x64xf32>
}
"""


@pytest.mark.parametrize("name", ["h100", "h200", "mi300x", "mi325x", "mi355x"])
def test_a_batch_of_candidates_compiles(name: str, tmp_path: Path) -> None:
    """As a worker would get it, each candidate's launches in one command buffer.

    With the functions that tell what an empty call costs.
    """
    target = load_target(name)
    space = explore(lifted(MATMUL), target)
    work, _ = candidate_work(space.egraph.graph, space.clusters, space.candidates, target, 0)
    benchmarks = [piece.benchmark for _, piece in work if not piece.form.is_free][:3]
    order = range(len(benchmarks))
    batch = make_batches(benchmarks, list(order), [0] * len(benchmarks), 16)[0]
    source = tmp_path / "batch.mlir"
    source.write_text(write_module(batch).text)
    names = [function_name(place) for place in order]
    outcome = compile_many(Launches(8), names)(source, tmp_path / "batch.vmfb", batch.flags, 60.0)
    assert outcome.ok, outcome.reason
    assert (tmp_path / "batch.vmfb").stat().st_size > 0
    calls = tmp_path / "batch.hal.mlir"
    outcome = compile_candidates(source, calls, up_to(Phase.HAL, batch.flags), 60.0)
    assert outcome.ok, outcome.reason
    once = calls.read_text()
    recorded = _recorded(with_many_launches(once, Launches(8), names))
    assert _recorded(once).items() <= recorded.items()
    for place in range(len(batch.benchmarks)):
        assert recorded[f"c{place}"].launched
        assert not recorded[f"c{place}"].loops
        assert recorded[f"c{place}_many"].launched == recorded[f"c{place}"].launched
        assert recorded[f"c{place}_many"].loops


@dataclass(frozen=True)
class _Recorded:
    """The command buffer of a function: the kernels that it launches, in order."""

    launched: list[str]
    loops: bool


def _recorded(text: str) -> dict[str, _Recorded]:
    """What a module of the HAL phase records, by function."""
    found: dict[str, _Recorded] = {}
    for function in text.split("util.func private @__")[1:]:
        name, _, rest = function.partition("()")[0].partition("_memoize_apply")
        body = function.partition("util.return")[0]
        launched = re.findall(r"lookup\.function .*::@(\S+)\)", body)
        assert len(launched) == body.count("hal.command_buffer.dispatch<")
        found[name + rest] = _Recorded(launched, "cf.cond_br" in body)
    return found


@pytest.mark.parametrize("device", ["cuda://99", "hip://99"])
def test_measuring_on_a_device_that_is_not_here(device: str, tmp_path: Path) -> None:
    space = explore(lifted(MATMUL), load_target("host"))
    target = load_target("host")
    work, _ = candidate_work(space.egraph.graph, space.clusters, space.candidates[:1], target, 0)
    with (
        Store(tmp_path / "prices.sqlite") as store,
        Measurer(store, MeasureSetting("absent", device)) as measurer,
        pytest.raises(InputError) as caught,
    ):
        measurer.measure([piece.benchmark for _, piece in work])
    assert str(caught.value).startswith(f"{device}: expected a device that opens, but got ")
    with Store(tmp_path / "prices.sqlite") as store:
        assert [record.outcome for record in store.records()] == []


def test_a_driver_without_times_of_dispatches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whole modules are compared and timed all the same."""
    without = replace(quirks(), flags=replace(quirks().flags, dispatch_events={}))
    monkeypatch.setattr(dispatch, "quirks", lambda: without)
    model = tmp_path / "dense.mlir"
    model.write_text(MATMUL)
    flags = load_target("host").flags
    variants = [Variant("default", model, flags), Variant(OPTIMIZED, model, flags)]
    subjects = subjects_of(parse_module(model), [0], Options())
    setting = EvaluationSetting(RunSetting(), "host", 60.0)
    evaluation = evaluate_variants(variants, subjects, tmp_path, setting, no_oracle)
    assert evaluation.verification.passed
    for variant in evaluation.variants:
        assert variant.milliseconds is not None
        assert (variant.dispatches, variant.calls, variant.moves) == (None, (), ())


def test_a_plan_that_is_predicted_to_be_slower_as_a_whole_is_not_written(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Prices of its parts say otherwise: what IREE makes of the whole module decides."""
    seen: list[Report] = []

    def built(outcome: OptimizationResult) -> Report:
        report = build_report(outcome)
        seen.append(report)
        if outcome.original_kept:
            return report
        before = report.before.predicted_ms
        assert before is not None
        return replace(report, after=replace(report.after, predicted_ms=2 * before))

    monkeypatch.setattr("layoutopt.pipeline.job.build_report", built)
    model, written = tmp_path / "model.mlir", tmp_path / "written.mlir"
    model.write_text(MATMUL)
    plan = layoutopt.optimize(model, "mi355x", options=Options(cache=tmp_path / "cache"))
    plan.save(written)
    assert plan.report.winner == "default"
    before = milliseconds(plan.report.before.predicted_ms or 0)
    slower = milliseconds(2 * (plan.report.before.predicted_ms or 0))
    why = (
        f"the plan is predicted to take {slower} ms, and the original {before} ms, "
        "estimated and not measured"
    )
    assert plan.report.kept_for == why
    assert f"the original is kept, compiled with 'default', for {why}" in headline(plan.report)
    assert plan.report.after.predicted_ms == plan.report.before.predicted_ms
    assert len(seen) == 2
    assert "compute_barrier" not in written.read_text()
