"""Compiling the modules that are compared."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layoutopt.errors import RefusedModuleError
from layoutopt.ir.layout import Layout
from layoutopt.runtime.behind import Behind
from layoutopt.runtime.compile import CompileOutcome
from layoutopt.runtime.outcome import Outcome
from layoutopt.runtime.setting import RunSetting
from layoutopt.verification import ahead, evaluation
from layoutopt.verification.discrepancy import Allowed
from layoutopt.verification.evaluated import (
    OPTIMIZED,
    Evaluation,
    Variant,
    VariantResult,
    content_key,
    recall,
    remember,
)
from layoutopt.verification.evaluation import EvaluationSetting, evaluate_variants
from layoutopt.verification.verified import ORIGINAL, FunctionVerified, Subject, Verification
from tests.running import no_oracle


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of what was compiled, in order, by a compiler that refuses the optimized module."""
    calls: list[str] = []

    def compile_variant(
        source: Path, output: Path, flags: tuple[str, ...], timeout_s: float, behind: Behind | None
    ) -> CompileOutcome:
        calls.append(flags[0])
        if flags[0] == OPTIMIZED:
            return CompileOutcome(False, Outcome.COMPILE_ERROR, "too deep", 0.0, {}, ("main_7",))
        output.write_text("module")
        return CompileOutcome(True, Outcome.OK, "", 0.0)

    monkeypatch.setattr(ahead, "compile_file", compile_variant)
    return calls


def test_a_refused_module_is_known_first_and_the_original_is_compiled_once(
    compiled: list[str], tmp_path: Path
) -> None:
    source = tmp_path / "model.mlir"
    source.touch()
    variants = [Variant(name, source, (name,)) for name in ("default", "O3", OPTIMIZED)]
    setting = EvaluationSetting(RunSetting(), "host", 10.0)
    for _ in range(3):
        with pytest.raises(RefusedModuleError) as caught:
            evaluate_variants(variants, [], tmp_path, setting, no_oracle)
        assert caught.value.dispatches == ("main_7",)
    assert compiled[0] == OPTIMIZED
    assert compiled.count(OPTIMIZED) == 3
    assert compiled.count("default") <= 1
    assert compiled.count("O3") <= 1


@pytest.mark.parametrize(
    ("took", "limit", "most"), [(1.0, 300.0, 60.0), (20.0, 300.0, 100.0), (90.0, 300.0, 300.0)]
)
def test_flag_sets_may_compile_a_few_times_as_long_as_the_default(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, took: float, limit: float, most: float
) -> None:
    limits: dict[str, float] = {}

    def compile_variant(
        source: Path, output: Path, flags: tuple[str, ...], timeout_s: float, behind: Behind | None
    ) -> CompileOutcome:
        limits[flags[0]] = timeout_s
        return CompileOutcome(True, Outcome.OK, "", took)

    monkeypatch.setattr(ahead, "compile_file", compile_variant)
    source = tmp_path / "model.mlir"
    variants = [Variant(name, source, (name,)) for name in ("default", "O3", "tiled", OPTIMIZED)]
    evaluation._compile(variants, tmp_path, EvaluationSetting(RunSetting(), "host", limit))
    assert limits == {"default": limit, OPTIMIZED: limit, "O3": most, "tiled": most}


def kept(folder: Path) -> tuple[Path, Evaluation]:
    """An evaluation on disk, and as it was."""
    results = (VariantResult("default", ("--flag",), 2.0, 1.5, 0.1, 3, calls=(("main_0", 5.0),)),)
    verified = FunctionVerified("main", ("normal",), (("zeros", "for want of time"),), 1e-6, 1e-7)
    evaluation = Evaluation(results, Verification(ORIGINAL, (verified,)), "2026-01-01")
    remember(folder, "key", evaluation)
    return folder / "key.json", evaluation


def test_what_was_remembered_comes_back_whole(tmp_path: Path) -> None:
    path, evaluation = kept(tmp_path)
    assert recall(path) == evaluation


@pytest.mark.parametrize("damage", ["", "{", "[]", "\x00", '{"variants": 3}'])
def test_a_damaged_memory_is_none(tmp_path: Path, damage: str) -> None:
    path, _ = kept(tmp_path)
    path.write_text(damage)
    assert recall(path) is None
    path.unlink()
    assert recall(path) is None


def test_how_results_are_compared_is_part_of_the_key(tmp_path: Path) -> None:
    source = tmp_path / "model.mlir"
    source.touch()
    variants = [Variant("default", source, ())]
    subject = Subject("main", Allowed(1e-3))
    others = [
        Subject("main", Allowed(1e-4)),
        subject.lying({0: Layout((1, 0))}, {}),
        replace(subject, integers={0: 10}),
    ]
    keys = {content_key(variants, [s], RunSetting(), "host") for s in (subject, *others)}
    assert len(keys) == 4
