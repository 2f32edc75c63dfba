"""Compiling the modules that are held against each other."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt import evaluation
from layoutopt.errors import RefusedModuleError
from layoutopt.evaluated import OPTIMIZED, Variant
from layoutopt.evaluation import Setting, evaluate_variants
from layoutopt.runtime.compile import CompileOutcome
from layoutopt.runtime.outcome import Outcome
from tests.running import no_oracle


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of what was compiled, in order, by a compiler that refuses the optimized module."""
    calls: list[str] = []

    def compile_file(
        source: Path, output: Path, flags: tuple[str, ...], timeout_s: float
    ) -> CompileOutcome:
        calls.append(flags[0])
        if flags[0] == OPTIMIZED:
            return CompileOutcome(False, Outcome.COMPILE_ERROR, "too deep", 0.0, {}, ("main_7",))
        output.write_text("module")
        return CompileOutcome(True, Outcome.OK, "", 0.0)

    monkeypatch.setattr(evaluation, "compile_file", compile_file)
    return calls


def test_a_refused_module_is_known_first_and_the_original_is_compiled_once(
    compiled: list[str], tmp_path: Path
) -> None:
    source = tmp_path / "model.mlir"
    source.touch()
    variants = [Variant(name, source, (name,)) for name in ("default", "O3", OPTIMIZED)]
    setting = Setting("local-sync", 1, "host", 10.0)
    for _ in range(3):
        with pytest.raises(RefusedModuleError) as caught:
            evaluate_variants(variants, [], tmp_path, None, setting, no_oracle)
        assert caught.value.dispatches == ("main_7",)
    assert compiled[0] == OPTIMIZED
    assert compiled.count(OPTIMIZED) == 3
    assert compiled.count("default") <= 1
    assert compiled.count("O3") <= 1
