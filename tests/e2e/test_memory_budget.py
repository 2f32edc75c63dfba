"""What a call holds is counted on the module that is written, and stays within its budget."""

from __future__ import annotations

from pathlib import Path

import pytest

import layoutopt
from layoutopt.errors import InputError
from layoutopt.options import Budget, Effort, Resource
from layoutopt.pricing.prices import Work
from tests.made_up_prices import MadeUpPrices, structured
from tests.marks import long
from tests.models import chain_of_convolutions


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("memory") / "model.mlir"
    path.write_text(chain_of_convolutions([16, 32, 32], 40))
    return path


def cost_ns(work: Work) -> int:
    """Made up: what is held does not depend on it, and nothing is to be measured."""
    return 1000 * sum(1 for op in structured(work) if op.is_contraction) + 1


def optimized(model: Path, profile: str = "host", **chosen: object) -> layoutopt.Report:
    options = layoutopt.Options(
        effort=Effort.QUICK,
        cache=model.parent / "cache",
        **chosen,  # type: ignore[arg-type]
    )
    own = MadeUpPrices(cost_ns) if profile == "host" else None
    return layoutopt.optimize(model, profile, options, pricer=own).report


@pytest.mark.parametrize("also", [frozenset(), long(frozenset({Resource.MEMORY}))])
def test_a_module_within_its_budget(model: Path, also: frozenset[Resource]) -> None:
    free = optimized(model, trade_offs=also).memory
    assert free is not None
    assert free.before_bytes is not None
    assert free.after_bytes is not None
    first, second = 4 * 32 * 38 * 38, 4 * 32 * 36 * 36
    assert free.before_bytes >= first + second
    assert free.planned_bytes >= first + second
    assert free.after_bytes >= first + second
    bounded = optimized(model, memory_budget=Budget(free.before_bytes))
    assert bounded.memory is not None
    assert bounded.memory.budget_bytes == free.before_bytes
    assert (bounded.memory.after_bytes or 0) <= free.before_bytes
    assert bounded.verification is not None
    assert bounded.verification.passed


@pytest.mark.long
def test_calls_with_workers_are_counted_too(model: Path) -> None:
    """They take memory from a pool that keeps no account."""
    found = optimized(model, threads=2).memory
    assert found is not None
    first, second = 4 * 32 * 38 * 38, 4 * 32 * 36 * 36
    assert (found.before_bytes or 0) >= first + second
    assert (found.after_bytes or 0) >= first + second


def test_a_budget_that_no_plan_keeps_is_refused(model: Path) -> None:
    with pytest.raises(InputError, match=r"--memory-budget: expected at least \d+ bytes"):
        optimized(model, memory_budget=Budget(1000))


@pytest.mark.long
def test_it_is_counted_in_modules_compiled_for_a_target_that_is_not_here(model: Path) -> None:
    found = optimized(model, "mi355x", verify=False).memory
    assert found is not None
    assert found.counted_by == "in the compiled modules"
    first, second = 4 * 32 * 38 * 38, 4 * 32 * 36 * 36
    assert (found.before_bytes or 0) >= first + second
    assert (found.after_bytes or 0) >= first + second
