"""The main job on a small model, end to end: planned, compiled, run, compared, timed, reported."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

import layoutopt
from layoutopt.candidates.explore import Space, explore
from layoutopt.cli.main import main
from layoutopt.errors import RefusedModuleError
from layoutopt.ir.graph import Graph
from layoutopt.pricing.measure import batch_compile
from layoutopt.pricing.source import PriceSource
from layoutopt.profiles.target import load_target
from layoutopt.report.headline import headline
from layoutopt.runtime import compile as compiling
from layoutopt.runtime import refused_alone
from layoutopt.runtime.compile import CompileOutcome
from layoutopt.runtime.outcome import Outcome
from layoutopt.solver import Search
from layoutopt.verification.modules import Modules
from tests.marks import long
from tests.models import CONVOLUTIONS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the model and, after the first run, its measured prices."""
    made = tmp_path_factory.mktemp("optimize")
    (made / "model.mlir").write_text(CONVOLUTIONS)
    return made


@pytest.fixture(scope="module")
def plan(folder: Path) -> layoutopt.Plan:
    options = layoutopt.Options(cache=folder / "cache")
    return layoutopt.optimize(folder / "model.mlir", options=options)


def test_the_plan_is_proved_verified_and_timed(plan: layoutopt.Plan) -> None:
    report = plan.report
    assert report.cost_source is PriceSource.MEASURED
    assert report.solver.status == "OPTIMAL"
    assert report.solver.gap == 0
    assert report.verification is not None
    assert report.verification.passed
    assert report.verification.max_rel_error < 1e-3
    assert {f.name for f in report.flag_sets} == {
        "default",
        "data-tiling",
        "O3",
        "O3+data-tiling",
        "layoutopt",
    }
    fastest = min(f.measured_ms for f in report.flag_sets if f.measured_ms is not None)
    assert report.after.measured_ms == fastest
    assert [b.op for b in report.barriers] == ["util.unfoldable_constant"]


def test_little_effort_times_the_original_with_one_flag_set(folder: Path) -> None:
    """The plan is verified as ever; prices that are there already serve it too."""
    options = layoutopt.Options(cache=folder / "cache", effort=layoutopt.Effort.QUICK)
    report = layoutopt.optimize(folder / "model.mlir", options=options).report
    assert {f.name for f in report.flag_sets} == {"default", "layoutopt"}
    assert report.verification is not None
    assert report.verification.passed
    assert report.solver.effort is layoutopt.Effort.QUICK
    assert "its best flags" not in headline(report)


def test_the_json_report_has_the_documented_fields(plan: layoutopt.Plan) -> None:
    table = json.loads(plan.report.to_json())
    assert table["version"] == 3
    side = {"pack", "unpack", "transpose", "dispatches", "predicted_ms", "measured_ms"}
    side |= {"predicted_range_ms", "im2col"}
    assert table["before"].keys() == table["after"].keys() == side
    assert table["solver"].keys() == {
        "status",
        "objective_ns",
        "bound_ns",
        "gap",
        "seconds",
        "candidates",
        "classes",
        "stop_reason",
        "effort",
        "priced",
        "refused",
        "bounded",
        "regions",
        "tensors",
        "cut",
        "op_limit",
        "rounds_ended",
        "given",
        "added_ns",
    }
    assert table["verification"].keys() == {
        "max_abs_error",
        "max_rel_error",
        "tolerance",
        "passed",
        "reference",
        "compared",
        "unverified",
        "weak",
        "inputs",
        "skipped",
        "reference_reason",
        "place",
        "tipped",
    }
    assert {"choices", "refusals", "compile_flags", "seconds", "model", "profile"} <= table.keys()


def test_a_second_run_measures_and_compiles_nothing(
    folder: Path, plan: layoutopt.Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object) -> None:
        raise AssertionError("the compiler ran again")

    monkeypatch.setattr(compiling, "_compile", refuse)
    monkeypatch.setattr(batch_compile, "write_module", refuse)
    again = layoutopt.optimize(
        folder / "model.mlir", options=layoutopt.Options(cache=folder / "cache")
    )
    assert again.functions[0].plan.choice == plan.functions[0].plan.choice
    assert again.report.after.measured_ms == plan.report.after.measured_ms


@pytest.mark.parametrize("names", [True, False])
def test_what_iree_refuses_inside_the_model_is_planned_without(
    folder: Path, plan: layoutopt.Plan, monkeypatch: pytest.MonkeyPatch, names: bool
) -> None:
    """A dispatch that compiles alone and not in the model costs its form, not the run.

    Where the compiler ends without naming it (``names``), its kernel is tried by itself.
    """
    job = sys.modules["layoutopt.pipeline.stages"]
    held = job.compare_with_original
    assert plan.report.validation is not None
    refused = max(plan.report.validation.dispatches, key=lambda d: d.measured_ns or 0)
    tried: list[Path] = []

    def refuse_once(modules: Modules, *arguments: object) -> object:
        tried.append(modules.optimized)
        if len(tried) == 1:
            raise RefusedModuleError("it crashed", (refused.dispatch,) if names else ())
        return held(modules, *arguments)

    def crashes(
        kernel: Path, output: Path, flags: tuple[str, ...], timeout_s: float
    ) -> CompileOutcome:
        assert not names
        ok = refused.dispatch not in kernel.read_text()
        return CompileOutcome(ok, Outcome.OK if ok else Outcome.COMPILE_CRASH, "", 0.0)

    enumerated: list[Graph] = []

    def explored(graph: Graph, *rest: object, **options: object) -> Space:
        enumerated.append(graph)
        return explore(graph, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr("layoutopt.planning.explored.explore", explored)
    monkeypatch.setattr(refused_alone, "compile_file", crashes)
    monkeypatch.setattr(job, "compare_with_original", refuse_once)
    # beside other tests, so short a model may lose, and would be measured and planned once more
    monkeypatch.setattr("layoutopt.pipeline.job._Job._loss", lambda *_: "")
    other = layoutopt.optimize(
        folder / "model.mlir", options=layoutopt.Options(cache=folder / "cache")
    )
    assert len(tried) == 2, "planned, refused, and planned again"
    assert len(enumerated) == 1, "from the same candidates"
    before, after = plan.functions[0].plan.choice, other.functions[0].plan.choice
    assert set(before.candidates) - set(after.candidates)
    reasons = {r.reason for r in other.report.refusals}
    assert "it compiles and is right alone, but not inside the model" in reasons
    assert other.report.verification is not None
    assert other.report.verification.passed
    monkeypatch.setattr(job, "compare_with_original", held)
    later = layoutopt.optimize(
        folder / "model.mlir", options=layoutopt.Options(cache=folder / "cache")
    )
    assert later.functions[0].plan.choice == other.functions[0].plan.choice, "the next run knows"
    for path in (folder / "cache" / "models").glob("refused-*.json"):
        path.unlink()


@pytest.mark.parametrize("profile", ["host", long("mi300x")])
def test_where_every_plan_is_refused_the_original_is_kept(
    folder: Path, monkeypatch: pytest.MonkeyPatch, profile: str
) -> None:
    def refuse(modules: Modules, *arguments: object) -> object:
        raise RefusedModuleError("a stack that is too large", ())

    monkeypatch.setattr(sys.modules["layoutopt.pipeline.stages"], "compare_with_original", refuse)
    options = layoutopt.Options(cache=folder / "cache")
    kept = layoutopt.optimize(folder / "model.mlir", profile, options)
    own = {flag_set.name for flag_set in load_target(profile).flag_sets}
    assert kept.report.winner in own
    assert headline(kept.report).endswith(
        f"the original is kept, compiled with '{kept.report.winner}', for no plan could be used: "
        "iree-compile refused it: a stack that is too large"
    )
    assert (kept.report.after.measured_ms is not None) == (profile == "host")
    kept.apply(folder / "kept.mlir")
    main_exit(["compile", str(folder / "kept.mlir"), "-o", str(folder / "kept.vmfb")])
    kept.save(folder / "plan.json")
    with pytest.raises(layoutopt.LoweringError, match="a stack that is too large"):
        layoutopt.optimize(folder / "model.mlir", profile, options, plan=folder / "plan.json")


def test_the_written_module_compiles_with_its_recorded_flags(
    folder: Path, plan: layoutopt.Plan
) -> None:
    plan.apply(folder / "model.opt.mlir")
    main_exit(["compile", str(folder / "model.opt.mlir"), "-o", str(folder / "model.vmfb")])
    assert (folder / "model.vmfb").stat().st_size > 0


def test_the_command_line_writes_all_that_is_asked_for(
    folder: Path, plan: layoutopt.Plan, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("out.mlirbc", "out.json", "out.html", "out.plan.json")
    output, report, page, chosen = (str(folder / name) for name in names)
    outputs = ["-o", output, "--report", report, "--html", page, "--plan-out", chosen]
    main_exit(["optimize", str(folder / "model.mlir"), "--cache", str(folder / "cache"), *outputs])
    assert f"Wrote {output}; compile it with" in capsys.readouterr().out
    assert plan.report.choices[0].op in (folder / "out.html").read_text()
    main_exit(["explain", report, plan.report.choices[0].op])
    assert plan.report.choices[0].form in capsys.readouterr().out
    main_exit(["explain", report, "--html", str(folder / "again.html")])
    assert (folder / "again.html").read_text() == (folder / "out.html").read_text()


def test_a_saved_plan_gives_the_same_module(folder: Path, plan: layoutopt.Plan) -> None:
    plan.save(folder / "plan.json")
    plan.apply(folder / "first.mlir")
    again = layoutopt.optimize(
        folder / "model.mlir",
        plan=folder / "plan.json",
        options=layoutopt.Options(cache=folder / "cache"),
    )
    again.apply(folder / "second.mlir")
    assert (folder / "first.mlir").read_text() == (folder / "second.mlir").read_text()


def test_a_plan_for_another_model_is_refused(folder: Path, plan: layoutopt.Plan) -> None:
    plan.save(folder / "plan.json")
    other = folder / "other.mlir"
    other.write_text(CONVOLUTIONS.replace("0.25", "0.5").replace("maximumf", "minimumf"))
    with pytest.raises(layoutopt.InputError, match="a plan for another model"):
        layoutopt.optimize(other, plan=folder / "plan.json")


def test_a_target_that_is_not_here_is_estimated_and_compiled(folder: Path) -> None:
    found = layoutopt.optimize(
        folder / "model.mlir", profile="mi355x", options=layoutopt.Options(cache=folder / "cache")
    )
    assert found.report.cost_source is PriceSource.COMPILED
    assert {row.side for row in found.report.kernels} == {"before", "after"}
    assert found.report.after.measured_ms is None
    assert found.report.after.dispatches is not None
    assert "--iree-rocm-target=mi355x" in found.compile_flags


def test_a_quick_look_compiles_no_candidate(folder: Path) -> None:
    options = layoutopt.Options(cache=folder / "quick", compile_candidates=False)
    found = layoutopt.optimize(folder / "model.mlir", profile="mi355x", options=options)
    assert found.report.cost_source is PriceSource.ANALYTIC
    assert found.report.kernels == ()
    assert not (folder / "quick" / "kernels.jsonl").exists()


@pytest.mark.long
@pytest.mark.parametrize("search", [Search.TASO, Search.GREEDY])
def test_other_searches_find_no_cheaper_plan(folder: Path, search: Search) -> None:
    """Of the same prices: those that the other search has asked for are kept."""
    options = layoutopt.Options(cache=folder / "cache", time_limit_s=5)
    model = folder / "model.mlir"
    other = layoutopt.optimize(model, options=replace(options, search=search))
    exact = layoutopt.optimize(model, options=options)
    assert other.report.solver.objective_ns >= exact.report.solver.objective_ns


def test_an_interrupt_leaves_no_output_and_keeps_what_was_measured(tmp_path: Path) -> None:
    model = tmp_path / "model.mlir"
    model.write_text(CONVOLUTIONS)
    output = tmp_path / "out.mlir"
    command = [
        sys.executable,
        "-m",
        "layoutopt",
        "optimize",
        str(model),
        "-o",
        str(output),
        "--cache",
        str(tmp_path / "cache"),
    ]
    running = subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": os.getcwd()},
    )
    store = tmp_path / "cache" / "prices.sqlite"
    deadline = time.monotonic() + 60
    while not store.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    running.send_signal(signal.SIGINT)
    _, text = running.communicate(timeout=60)
    assert running.returncode == 130
    assert text.strip().splitlines()[-1] == (
        "layoutopt: interrupted; what is finished is kept, run it again to go on"
    )
    assert "Traceback" not in text
    assert sorted(p.name for p in tmp_path.iterdir()) == ["cache", "model.mlir"]


def main_exit(arguments: list[str]) -> None:
    """Run the command line to a good end."""
    main(arguments)
