"""What is told where IREE refuses a module."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import CompileOutcome
from layoutopt.runtime.outcome import Outcome
from layoutopt.verification import whole_model
from layoutopt.verification.whole_model import Taken, flags_of_original

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
