from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.mlir.write.many_launches import Launches
from layoutopt.pricing.measure import compile_many as module
from layoutopt.pricing.measure.compile_many import compile_many
from layoutopt.runtime.compile import CompileOutcome, Phase
from layoutopt.runtime.outcome import Outcome


def test_what_iree_wrote_and_does_not_read_is_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(
        source: Path, phase: Phase, output: Path, flags: tuple[str, ...], timeout_s: float
    ) -> CompileOutcome:
        output.write_text("util.func @c0(")
        return CompileOutcome(True, Outcome.OK, "", 0.1)

    monkeypatch.setattr(module, "compile_to", unreadable)
    found = compile_many(Launches(4))(tmp_path / "b.mlir", tmp_path / "b.vmfb", (), 1.0)
    assert not found.ok
    assert found.outcome is Outcome.COMPILE_ERROR
    assert "Unable to parse module" in found.reason
    assert list(tmp_path.iterdir()) == []
