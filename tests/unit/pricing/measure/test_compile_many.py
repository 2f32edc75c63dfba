from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

import pytest

from layoutopt.mlir.write.many_launches import Launches
from layoutopt.pricing.measure import compile_many as module
from layoutopt.pricing.measure.batch import Batch
from layoutopt.pricing.measure.batch_compile import Compile
from layoutopt.pricing.measure.benchmark import Benchmark, Case, Operand
from layoutopt.pricing.measure.compile_many import compile_many, compile_timed
from layoutopt.runtime.compile import CompileOutcome, Phase, compile_candidates
from layoutopt.runtime.outcome import Outcome
from layoutopt.runtime.sampling import Protocol, launching_on


def test_what_iree_wrote_and_does_not_read_is_a_refusal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(
        source: Path, phase: Phase, output: Path, flags: tuple[str, ...], timeout_s: float
    ) -> CompileOutcome:
        output.write_text("util.func @c0(")
        return CompileOutcome(True, Outcome.OK, "", 0.1)

    monkeypatch.setattr(module, "compile_to", unreadable)
    found = compile_many(Launches(4), ["c0"])(tmp_path / "b.mlir", tmp_path / "b.vmfb", (), 1.0)
    assert not found.ok
    assert found.outcome is Outcome.COMPILE_ERROR
    assert "Unable to parse module" in found.reason
    assert list(tmp_path.iterdir()) == []


def test_errors_of_the_second_half_are_told_by_executable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its lines are those of what was laid out, which no candidate has."""
    laid_out = """util.func public @c0() {
}
stream.executable private @c0_dispatch_0 {
  line 4
}
stream.executable private @c1$async_dispatch_1 {
  line 7
  line 8
}
"""

    def to_phase(
        source: Path, phase: Phase, output: Path, flags: tuple[str, ...], timeout_s: float
    ) -> CompileOutcome:
        output.write_text(laid_out)
        return CompileOutcome(True, Outcome.OK, "", 0.1)

    def rest(
        source: Path, output: Path, flags: tuple[str, ...], timeout_s: float
    ) -> CompileOutcome:
        errors = {1: "nowhere", 6: "of all of it", 7: "first", 8: "second"}
        return CompileOutcome(False, Outcome.COMPILE_ERROR, "first", 0.1, errors)

    monkeypatch.setattr(module, "compile_to", to_phase)
    monkeypatch.setattr(module, "with_many_launches", lambda text, *_: text)
    compiled = compile_many(Launches(4), ["c0"], rest)
    found = compiled(tmp_path / "b.mlir", tmp_path / "b.vmfb", (), 1.0)
    assert found.executables == {"c1$async_dispatch_1": "first"}
    assert found.errors == {}


def test_small_candidates_of_a_batch_are_launched_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where none is, a batch is compiled as it is."""
    asked: list[tuple[str, ...]] = []

    def noted(launches: Launches, names: Collection[str], rest: Compile) -> Compile:
        asked.append((str(launches.count), *names))
        return rest

    monkeypatch.setattr(module, "compile_many", noted)
    small, large = (
        Benchmark((Operand("%x", f"tensor<{n}xf32>"),), (), "", (), (), no_case)
        for n in (1 << 10, 1 << 20)
    )
    compiled = compile_timed(Protocol(launching=launching_on("local-task")), compile_candidates)
    for benchmarks in ((large, small, large), (large,)):
        batch = Batch(benchmarks, tuple(range(len(benchmarks))))
        assert compiled(batch) is compile_candidates
    assert asked == [("16", "c1")]


def no_case() -> Case:
    raise AssertionError("nothing measures this")
