"""What a graph does not hold stays as it is, with its reason, and the rest is planned."""

from __future__ import annotations

from pathlib import Path

import pytest

import layoutopt
import layoutopt.pipeline.stages as job
from layoutopt.errors import InputError
from layoutopt.runtime.reread import reread
from layoutopt.verification.dispatch_count import Dispatches
from layoutopt.verification.verified import Verification
from layoutopt.verification.whole_model import Comparison
from layoutopt.verification.written_module import Written
from tests.hostile.modules import PLANNED

NOT_PLANNED = {
    "functions of one op": "func.func @main() { return }",
    "a declaration alone": "func.func private @outside(%a: i32) -> i32",
    "a function that only branches": ("func.func @f() { cf.br ^one\n ^one: return }"),
}
"""Valid modules without anything to plan."""
BARRIERS = {
    "scf.if": "scf.if",
    "a memref": "linalg.fill",
    "a body that calls": "linalg.generic",
    "a map with floordiv and mod": "linalg.generic",
    "matmul of no elements": "linalg.matmul",
    "huge shapes": "linalg.map",
    "branches": "branching",
}


@pytest.fixture
def planned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Planned:
    monkeypatch.setattr(
        job, "compare_with_original", lambda *arguments: Comparison(Verification("", ()))
    )
    monkeypatch.setattr(Written, "dispatches", lambda *arguments: Dispatches(None, None, "stub"))
    return Planned(tmp_path)


class Planned:
    """Plans without IREE: what is asked is whether a plan comes out, and what it reaches."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, text: str) -> layoutopt.Plan:
        """Plan a module and write it; what is written is MLIR again."""
        model, output = self.folder / "model.mlir", self.folder / "out.mlir"
        model.write_text(text)
        options = layoutopt.Options(cache=self.folder / "cache")
        plan = layoutopt.optimize(model, "x86-64-avx512", options)
        plan.apply(output)
        reread(output, self.folder / "out.mlirbc", "correct the plan")
        return plan


@pytest.mark.parametrize("name", PLANNED)
def test_the_rest_is_planned(planned: Planned, name: str) -> None:
    plan = planned(PLANNED[name])
    report = plan.report
    assert any(choice.op.startswith("contraction") for choice in report.choices)
    ops = {barrier.op for barrier in report.barriers} | {b.rule for b in report.barriers}
    wanted = BARRIERS.get(name)
    assert wanted is None or any(wanted in op for op in ops), ops
    assert all(barrier.reason for barrier in report.barriers)


@pytest.mark.parametrize("name", NOT_PLANNED)
def test_nothing_to_plan_is_no_error(planned: Planned, name: str) -> None:
    assert planned(NOT_PLANNED[name]).report.choices == ()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a\\FFb", "expected names in UTF-8, but got another one of a func.func; rename it"),
        ("", "expected a name for each symbol, but got an empty one; name it"),
    ],
)
def test_names_that_cannot_be_written(planned: Planned, name: str, text: str) -> None:
    with pytest.raises(InputError) as caught:
        planned(f'func.func @"{name}"() {{ return }}')
    assert str(caught.value) == f"{planned.folder / 'model.mlir'}: {text}"
