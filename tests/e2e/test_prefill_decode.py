"""Prefill and decode of one module: weights packed once, keys and values kept between calls."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

import layoutopt
from examples.make_prefill_decode import Sizes, module_text
from layoutopt.errors import InputError
from layoutopt.options import Budget, Effort, Objective
from tests.planning import EIGHTS

SMALL = Sizes(layers=1, width=16, heads=2, hidden=32, prompt=8, context=16)
WEIGHTS = 4 * 16 * 16 + 3 * 16 * 32
"""Elements of the seven that are contracted."""


@dataclass(frozen=True)
class Served:
    """A plan of the model, and the text of the module."""

    plan: layoutopt.Plan
    text: str


def served(folder: Path, budget: int) -> Served:
    path = folder / "model.mlir"
    path.write_text(module_text(SMALL))
    options = layoutopt.Options(
        cache=folder / "cache",
        effort=Effort.QUICK,
        objective=Objective.CONVERSIONS,
        weight_budget=Budget(budget),
    )
    plan = layoutopt.optimize(path, EIGHTS, options)
    plan.apply(folder / "out.mlir")
    return Served(plan, (folder / "out.mlir").read_text())


def test_shared_weights_are_packed_once_and_count_once(tmp_path: Path) -> None:
    found = served(tmp_path, 4 * WEIGHTS)
    report = found.plan.report
    assert report.verification is not None
    assert report.verification.passed
    assert report.verification.unverified == ()
    assert {choice.function for choice in report.choices} == {"prefill", "decode"}
    assert found.text.count("util.global private @layoutopt_weight_") == 5
    assert report.weights is not None
    assert report.weights.copies == 5
    assert report.weights.copied_bytes == 4 * WEIGHTS
    assert 4 * WEIGHTS < report.weights.size_bytes < 2 * 4 * WEIGHTS
    found.plan.save(tmp_path / "plan.json")
    options = layoutopt.Options(
        cache=tmp_path / "cache",
        effort=Effort.QUICK,
        objective=Objective.CONVERSIONS,
        weight_budget=Budget(4 * WEIGHTS),
    )
    again = layoutopt.optimize(
        tmp_path / "model.mlir", EIGHTS, options, plan=tmp_path / "plan.json"
    )
    assert again.report.weights == report.weights


def test_a_budget_for_less_than_one_copy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="--weight-budget: expected at least"):
        served(tmp_path, 4 * WEIGHTS - 1)
