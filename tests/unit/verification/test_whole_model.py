"""What is told where IREE refuses a module."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layoutopt.options import Budget
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import CompileOutcome
from layoutopt.runtime.outcome import Outcome
from layoutopt.verification import whole_model
from layoutopt.verification.evaluated import OPTIMIZED, Evaluation, VariantResult
from layoutopt.verification.verified import Verification
from layoutopt.verification.whole_model import (
    Comparison,
    OverMemoryError,
    Taken,
    check_memory,
    flags_of_original,
)

TILING = "--iree-opt-data-tiling"


@pytest.mark.parametrize(
    ("taken", "expected"),
    [
        (lambda flags: True, ("default", "")),
        (lambda flags: TILING in flags, ("data-tiling", "too deep")),
        (lambda flags: False, (None, "too deep")),
    ],
)
def test_why_the_original_is_refused_and_with_which_flags_it_is_not(
    taken: object,
    expected: tuple[str | None, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def compile_file(
        source: Path, output: Path, flags: tuple[str, ...], timeout_s: float
    ) -> CompileOutcome:
        assert callable(taken)
        if taken(flags):
            return CompileOutcome(True, Outcome.OK, "", 0.0)
        return CompileOutcome(False, Outcome.COMPILE_ERROR, "too deep", 0.0)

    monkeypatch.setattr(whole_model, "compile_file", compile_file)
    target = load_target("host")
    found = flags_of_original(tmp_path / "m.mlir", (), target, tmp_path, 10.0)
    assert (found.flag_set and found.flag_set.name, found.reason) == expected


def test_what_was_compiled_before_is_not_compiled_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_model, "compile_file", None)
    (tmp_path / "variant0.vmfb").touch()
    target = load_target("host")
    found = flags_of_original(tmp_path / "m.mlir", (), target, tmp_path, 10.0)
    assert found == Taken(target.flag_sets[0], "")


def timed(name: str, ms: float, held_bytes: int | None) -> VariantResult:
    return VariantResult(name, (), ms, ms, 0.0, 1, held_bytes=held_bytes)


@pytest.mark.parametrize(
    ("memory_bytes", "winner"), [(None, "O3"), (300, "O3"), (200, OPTIMIZED), (100, "default")]
)
def test_the_fastest_that_holds_no_more_than_it_may(memory_bytes: int | None, winner: str) -> None:
    """The plan is within: what is not raises an error before."""
    times = (timed("default", 9.0, 90), timed("O3", 1.0, 300), timed(OPTIMIZED, 2.0, 200))
    evaluation = Evaluation(times, Verification("", ()), "")
    mine = timed(OPTIMIZED, 99.0 if memory_bytes == 100 else 2.0, 100)
    evaluation = replace(evaluation, variants=(*times[:2], mine))
    held = Comparison(Verification("", ()), evaluation, memory_bytes=memory_bytes)
    assert held.winner == winner


@pytest.mark.parametrize(
    ("budget", "memory_bytes"),
    [(None, None), (Budget(500), 500), (Budget(50, percent=True), 45)],
)
def test_what_a_call_may_hold(budget: Budget | None, memory_bytes: int | None) -> None:
    """A share is of the original, compiled with the first flags that work."""
    times = (timed("default", 9.0, 90), timed("O3", 1.0, 300), timed(OPTIMIZED, 2.0, 200))
    assert Evaluation(times, Verification("", ()), "").memory_bytes(budget) == memory_bytes
    unknown = Evaluation((timed("default", 9.0, None),), Verification("", ()), "")
    expected = None if budget is None or budget.percent else memory_bytes
    assert unknown.memory_bytes(budget) == expected


def test_a_module_that_holds_more_than_it_may_is_an_error(tmp_path: Path) -> None:
    check_memory(tmp_path, 100, 100)
    check_memory(tmp_path, None, 100)
    check_memory(tmp_path, 100, None)
    with pytest.raises(OverMemoryError) as error:
        check_memory(Path("m.mlir"), 200, 100)
    assert error.value.share == 0.5
    assert not error.value.original_fits
    assert OverMemoryError(tmp_path, 200, 100, whole_bytes=100).original_fits
    assert not OverMemoryError(tmp_path, 200, 100, whole_bytes=101).original_fits
    assert str(error.value) == (
        "m.mlir: --memory-budget: expected a module that holds 100 bytes at most while a call runs,"
        " but got 200 of the plan that comes closest; raise it"
    )
