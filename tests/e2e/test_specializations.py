"""A function with several plans for ranges of its sizes: written, compiled, compared, replayed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import layoutopt
from layoutopt.errors import RefusedModuleError
from layoutopt.options import PlannedSize
from layoutopt.pipeline import attempts
from layoutopt.pipeline.stages import LoweredModel, verify
from layoutopt.report.report import read_report
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import run_model
from layoutopt.runtime.steps import Clock
from layoutopt.verification.whole_model import Comparison
from tests.parameters import FLAGS
from tests.planning import AS_WRITTEN, TWO_MATMULS, SizedPrices, packed_for_many

BOUNDARY = 17
"""Between 1 and 300: their geometric mean."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("specialized")
    (made / "model.mlir").write_text(TWO_MATMULS)
    return made


def options(folder: Path, **more: object) -> layoutopt.Options:
    sizes = (PlannedSize("arg0.0", (1, 300), (2.0, 1.0)),)
    return layoutopt.Options(cache=folder / "cache", sizes=sizes, rules=AS_WRITTEN, **more)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def plan(folder: Path) -> layoutopt.Plan:
    prices = SizedPrices(packed_for_many)
    return layoutopt.optimize(folder / "model.mlir", options=options(folder), pricer=prices)


@pytest.fixture(scope="module")
def written(plan: layoutopt.Plan, folder: Path) -> Path:
    """The plan, though the original may be faster here."""
    found = layoutopt.read(folder / "model.mlir", options=options(folder))
    plans = [f.plan for f in plan.functions]
    with found:
        lowered = layoutopt.lower(found, plans)
        path = folder / "plan.mlir"
        lowered.module.write(path, lowered.flags)
    return path


def test_the_report_says_which_plan_serves_which_sizes(plan: layoutopt.Plan) -> None:
    report = plan.report
    assert [f.plan.specializations != () for f in plan.functions] == [True]
    assert [(row.sizes, row.weight) for row in report.at_sizes] == [
        ({"arg0.0": 1}, 2.0),
        ({"arg0.0": 300}, 1.0),
    ]
    assert all(row.measured_ms and row.default_ms for row in report.at_sizes)
    assert not report.discrepancies
    assert {c.function for c in report.choices} == {"main at arg0.0 <= 17", "main at arg0.0 > 17"}
    if report.winner == "layoutopt":
        assert [row.ranges for row in report.specializations] == ["arg0.0 <= 17", "arg0.0 > 17"]
        assert [row.ranges for row in report.at_sizes] == ["arg0.0 <= 17", "arg0.0 > 17"]
        assert all((row.one_plan_ms or 0) >= (row.predicted_ms or 0) for row in report.at_sizes)
        assert report.after.predicted_ms == pytest.approx(
            sum(r.weight * (r.predicted_ms or 0) for r in report.at_sizes) / 3, abs=1e-5
        )


def test_results_are_compared_around_the_boundary(plan: layoutopt.Plan) -> None:
    verification = plan.report.verification
    assert verification is not None
    assert verification.passed
    tried = {name.rpartition(" ")[2] for name in verification.inputs if "normal at" in name}
    assert tried >= {"1", "300", str(BOUNDARY - 1), str(BOUNDARY), str(BOUNDARY + 1)}


def test_the_written_module_is_right_on_both_sides(written: Path, folder: Path) -> None:
    text = written.read_text()
    assert re.search(rf"arith.cmpi sle, %\w+, %c{BOUNDARY}", text)
    compiled = []
    for source in (folder / "model.mlir", written):
        output = source.with_suffix(".vmfb")
        outcome = compile_file(source, output, FLAGS, 300)
        assert outcome.ok, outcome.reason
        compiled.append(output)
    rng = np.random.default_rng(0)
    for size in (1, BOUNDARY, BOUNDARY + 1):
        x = rng.normal(size=(size, 64)).astype(np.float32)
        wanted, found = (run_model(module, "main", [x]) for module in compiled)
        assert found[0].shape == (size, 64)
        assert np.allclose(wanted[0], found[0], rtol=1e-4, atol=1e-5)


def test_the_plan_file_makes_the_same_module(
    plan: layoutopt.Plan, written: Path, folder: Path
) -> None:
    saved = folder / "plan.json"
    plan.save(saved)
    rows = json.loads(saved.read_text())["functions"]
    assert [row["ranges"] for row in rows] == [
        [{"name": "arg0.0", "above": None, "up_to": BOUNDARY}],
        [{"name": "arg0.0", "above": BOUNDARY, "up_to": None}],
    ]
    again = layoutopt.optimize(folder / "model.mlir", options=options(folder), plan=saved)
    assert [f.plan.cost_ns for f in again.functions] == [f.plan.cost_ns for f in plan.functions]
    found = layoutopt.read(folder / "model.mlir", options=options(folder))
    with found:
        lowered = layoutopt.lower(found, [f.plan for f in again.functions])
        path = folder / "again.mlir"
        lowered.module.write(path, lowered.flags)
    assert path.read_bytes() == written.read_bytes()
    report = folder / "report.json"
    again.report.write(report)
    assert read_report(report) == again.report


@pytest.mark.long
def test_one_plan_is_tried_where_iree_refuses_several(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried = []

    def refuses_several(
        model: layoutopt.Model,
        lowered: LoweredModel,
        clock: Clock | None = None,
        since: str = "",
    ) -> Comparison:
        tried.append([len(plan.bodies) for plan in lowered.plans])
        if any(plan.specializations for plan in lowered.plans):
            raise RefusedModuleError("no branches", (), ())
        return verify(model, lowered, clock, since)

    monkeypatch.setattr(attempts, "verify", refuses_several)
    prices = SizedPrices(packed_for_many)
    found = layoutopt.optimize(folder / "model.mlir", options=options(folder), pricer=prices)
    assert tried == [[2], [1]]
    reasons = [r.reason for r in found.report.refusals if r.rule == "specialization"]
    assert reasons == ["iree-compile refused several in one module: no branches"]
    assert found.report.verification is not None
    assert found.report.verification.passed


def test_free_inputs_and_outputs_have_one_plan(folder: Path) -> None:
    prices = SizedPrices(packed_for_many)
    free = options(folder, free_io_layout=True)
    found = layoutopt.optimize(folder / "model.mlir", options=free, pricer=prices)
    assert [f.plan.specializations for f in found.functions] == [()]
    assert [row.ranges for row in found.report.at_sizes] == ["", ""]
    reasons = [r.reason for r in found.report.refusals if r.rule == "specialization"]
    assert reasons == ["with --free-io-layout, inputs and outputs lie in one layout at all sizes"]
