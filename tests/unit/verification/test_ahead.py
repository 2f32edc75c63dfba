"""Flag sets of the original that are compiled while prices are measured."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutopt.runtime.behind import Behind
from layoutopt.runtime.compile import CompileOutcome
from layoutopt.runtime.outcome import Outcome
from layoutopt.verification import ahead
from layoutopt.verification.ahead import CompiledAhead, module_of
from layoutopt.verification.evaluated import Variant

VARIANTS = [Variant(name, Path("model.mlir"), (name,)) for name in ("default", "O3", "tiled")]


class Compiler:
    """Compiles one variant after another, each when it may."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self.gates = {variant.name: threading.Event() for variant in VARIANTS}
        self.began = {variant.name: threading.Event() for variant in VARIANTS}

    def __call__(
        self,
        source: Path,
        output: Path,
        flags: tuple[str, ...],
        timeout_s: float,
        behind: Behind | None,
    ) -> CompileOutcome:
        assert behind is not None
        (name,) = flags
        self.begun.append(name)
        self.began[name].set()
        assert self.gates[name].wait(30)
        if name == "O3":
            return CompileOutcome(False, Outcome.COMPILE_ERROR, "refused", 1.0)
        output.write_text(name)
        return CompileOutcome(True, Outcome.OK, "", 1.0)


@pytest.fixture
def compiler(monkeypatch: pytest.MonkeyPatch) -> Iterator[Compiler]:
    found = Compiler()
    monkeypatch.setattr(ahead, "compile_file", found)
    monkeypatch.setattr(ahead, "can_run_behind", lambda: True)
    yield found
    for gate in found.gates.values():
        gate.set()


def test_what_is_under_way_is_waited_for_and_what_is_not_is_left(
    compiler: Compiler, tmp_path: Path
) -> None:
    with CompiledAhead(VARIANTS, tmp_path, 60.0) as compiled:
        compiled.start()
        compiled.start()
        compiler.gates["default"].set()
        assert compiler.began["O3"].wait(30)
        tiled = compiled.outcome(VARIANTS[2], module_of(tmp_path, 2))
        assert tiled is None
        compiler.gates["O3"].set()
        default, refused = (compiled.outcome(VARIANTS[i], module_of(tmp_path, i)) for i in (0, 1))
        assert default is not None
        assert default.ok
        assert module_of(tmp_path, 0).read_text() == "default"
        assert refused is not None
        assert refused.reason == "refused"
    assert compiler.begun == ["default", "O3"]


def test_other_flags_and_places_are_others(compiler: Compiler, tmp_path: Path) -> None:
    with CompiledAhead(VARIANTS, tmp_path, 60.0) as compiled:
        compiler.gates["default"].set()
        compiled.start()
        other = Variant("default", Path("model.mlir"), ("default", "--more"))
        assert compiled.outcome(other, module_of(tmp_path, 0)) is None
        assert compiled.outcome(VARIANTS[0], module_of(tmp_path / "anew", 0)) is None
        for gate in compiler.gates.values():
            gate.set()


def test_nothing_begins_by_itself_or_where_it_could_not_be_ended(
    compiler: Compiler, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with CompiledAhead(VARIANTS, tmp_path, 60.0) as compiled:
        assert compiled.outcome(VARIANTS[0], module_of(tmp_path, 0)) is None
        monkeypatch.setattr(ahead, "can_run_behind", lambda: False)
        compiled.start()
        assert compiled.outcome(VARIANTS[0], module_of(tmp_path, 0)) is None
    assert compiler.begun == []
