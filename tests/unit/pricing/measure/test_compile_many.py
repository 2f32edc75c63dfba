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
from layoutopt.runtime.compile import CompileOutcome, compile_candidates
from layoutopt.runtime.outcome import Outcome
from layoutopt.runtime.sampling import Protocol, launching_on


def test_what_iree_wrote_and_does_not_read_is_a_refusal(tmp_path: Path) -> None:
    def unreadable(
        source: Path, output: Path, flags: tuple[str, ...], timeout_s: float
    ) -> CompileOutcome:
        assert flags == ("--some", "--compile-to=hal")
        output.write_text("util.func @c0(")
        return CompileOutcome(True, Outcome.OK, "", 0.1)

    compiled = compile_many(Launches(4), ["c0"], unreadable)
    found = compiled(tmp_path / "b.mlir", tmp_path / "b.vmfb", ("--some",), 1.0)
    assert not found.ok
    assert found.outcome is Outcome.COMPILE_ERROR
    assert "Unable to parse module" in found.reason
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("refused", ["--compile-to=hal", "--compile-from=hal"])
def test_lines_are_told_where_they_are_those_of_the_source(refused: str, tmp_path: Path) -> None:
    """The second half reads what the first one wrote, whose lines no candidate has."""

    def half(
        source: Path, output: Path, flags: tuple[str, ...], timeout_s: float
    ) -> CompileOutcome:
        output.write_text("")
        if refused in flags:
            return CompileOutcome(False, Outcome.COMPILE_ERROR, "bad", 0.1, {7: "bad"})
        return CompileOutcome(True, Outcome.OK, "", 0.1)

    compiled = compile_many(Launches(4), ["c0"], half)
    found = compiled(tmp_path / "b.mlir", tmp_path / "b.vmfb", (), 1.0)
    assert (found.ok, found.reason) == (False, "bad")
    assert found.errors == ({7: "bad"} if refused == "--compile-to=hal" else {})


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
