"""What a call costs without a dispatch: its module is compiled once in a process."""

from __future__ import annotations

from pathlib import Path

from layoutopt.pricing.measure.calibration import Calibration
from layoutopt.runtime.compile import CompileOutcome
from layoutopt.runtime.outcome import Outcome
from layoutopt.runtime.sampling import Protocol


class Compiler:
    """Copies the text, and fails as often as it is told to."""

    def __init__(self, failures: int = 0) -> None:
        self.failures = failures
        self.flags: list[tuple[str, ...]] = []

    def __call__(
        self, source: Path, output: Path, flags: tuple[str, ...], timeout_s: float
    ) -> CompileOutcome:
        self.flags.append(flags)
        ok = len(self.flags) > self.failures
        if ok:
            output.write_bytes(source.read_bytes())
        return CompileOutcome(ok, Outcome.OK if ok else Outcome.COMPILE_ERROR, "", timeout_s)


def modules(compiler: Compiler, *flags: str) -> list[bytes | None]:
    with Calibration(compiler, 1.0, Protocol()) as calibration:
        found = [calibration.module((flag,)) for flag in flags]
        return [path.read_bytes() if outcome.ok else None for path, outcome in found]


def test_a_module_is_compiled_once_for_each_set_of_flags() -> None:
    compiler = Compiler()
    first = modules(compiler, "-a", "-b", "-a")
    assert modules(compiler, "-b", "-a", "-b") == first
    assert compiler.flags == [("-a",), ("-b",)]
    modules(Compiler(), "-a")
    assert modules(other := Compiler(), "-a") == first[:1]
    assert other.flags == [("-a",)]


def test_what_failed_is_tried_again() -> None:
    compiler = Compiler(failures=1)
    assert modules(compiler, "-a", "-a") == [None, None]
    assert None not in modules(compiler, "-a")
    assert compiler.flags == [("-a",)] * 2
