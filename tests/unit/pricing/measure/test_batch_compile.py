from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.pricing.measure.batch import Batch
from layoutopt.pricing.measure.batch_compile import BatchCompiler, Compiled, Refused
from layoutopt.pricing.measure.benchmark import Benchmark, Case, Operand, Result
from layoutopt.runtime.compile import CompileOutcome
from layoutopt.runtime.outcome import Measurement, Outcome

TYPE = "tensor<4xf32>"


def no_case() -> Case:
    raise AssertionError("nothing measures this")


def batch(names: str) -> Batch:
    benchmarks = tuple(
        Benchmark(
            (Operand("%x", TYPE),),
            (),
            f'%r = "test.{name}"(%x)',
            (Result("%r", TYPE),),
            ("--flag",),
            no_case,
        )
        for name in names
    )
    return Batch(benchmarks, tuple(range(len(names))))


JOBS = 2


class FakeCompiler:
    """Refuses every module that has one of the bad ops in it."""

    def __init__(self, bad: dict[str, Outcome], located: bool, dumps: bool = False) -> None:
        """``dumps``: errors point at the code of kernels."""
        self.bad = bad
        self.located = located
        self.dumps = dumps
        self.calls = 0

    def __call__(
        self, source: Path, output: Path, flags: tuple[str, ...], timeout_s: float
    ) -> CompileOutcome:
        self.calls += 1
        assert flags == ("--flag",)
        text = source.read_text()
        bad = [name for name in self.bad if f'"test.{name}"' in text]
        if bad:
            outcome = self.bad[bad[0]]
            errors = {
                n: f"{name} is bad"
                for n, line in enumerate(text.splitlines(), 1)
                for name in bad
                if f'"test.{name}"' in line and self.bad[name] is outcome and self.located
            }
            functions = text.split("func.func @")[1:]
            executables = {
                f"module_{function.partition('(')[0]}_dispatch_0": f"{name} is bad"
                for function in functions
                for name in bad
                if f'"test.{name}"' in function and self.dumps
            }
            reason = f"{bad[0]} is bad"
            return CompileOutcome(False, outcome, reason, 0.0, errors, executables=executables)
        output.write_text("module")
        return CompileOutcome(True, Outcome.OK, "", 0.0)


def names(part: Batch) -> str:
    return "".join(benchmark.body[11] for benchmark in part.benchmarks)


def run(fake: FakeCompiler, folder: Path, *batches: str) -> tuple[str, dict[str, Measurement]]:
    good, bad = "", {}
    compiler = BatchCompiler(lambda _: fake, folder, JOBS, 1.0)
    for item in compiler.run([batch(text) for text in batches]):
        match item:
            case Compiled(part, module):
                assert module.read_text() == "module"
                good += names(part)
            case Refused(part, measurement):
                bad[names(part)] = measurement
    assert list(folder.glob("*.mlir")) == []
    return "".join(sorted(good)), bad


def test_good_batches_are_compiled_once(tmp_path: Path) -> None:
    fake = FakeCompiler({}, located=True)
    assert run(fake, tmp_path, "abcd", "efgh") == ("abcdefgh", {})
    assert fake.calls == 2


def test_the_line_of_an_error_finds_the_culprit(tmp_path: Path) -> None:
    fake = FakeCompiler({"c": Outcome.COMPILE_ERROR}, located=True)
    good, bad = run(fake, tmp_path, "abcdefgh")
    assert good == "abdefgh"
    assert bad == {"c": Measurement(Outcome.COMPILE_ERROR, (), "c is bad")}
    assert fake.calls == 1 + JOBS  # the others keep all cores busy


def test_a_dumped_kernel_finds_the_culprit(tmp_path: Path) -> None:
    fake = FakeCompiler(dict.fromkeys("cf", Outcome.COMPILE_ERROR), located=False, dumps=True)
    good, bad = run(fake, tmp_path, "abcdefgh")
    assert good == "abdegh"
    assert {name: m.reason for name, m in bad.items()} == {c: f"{c} is bad" for c in "cf"}
    assert fake.calls == 1 + JOBS  # the others keep all cores busy


def test_each_of_several_culprits_has_its_own_reason(tmp_path: Path) -> None:
    fake = FakeCompiler(dict.fromkeys("bce", Outcome.COMPILE_ERROR), located=True)
    good, bad = run(fake, tmp_path, "abcdef")
    assert good == "adf"
    assert {name: m.reason for name, m in bad.items()} == {c: f"{c} is bad" for c in "bce"}
    assert fake.calls == 1 + JOBS  # the others keep all cores busy


def test_a_module_of_culprits_only(tmp_path: Path) -> None:
    fake = FakeCompiler(dict.fromkeys("ab", Outcome.COMPILE_ERROR), located=True)
    good, bad = run(fake, tmp_path, "ab")
    assert (good, set(bad), fake.calls) == ("", {"a", "b"}, 1)


@pytest.mark.parametrize("outcome", [Outcome.COMPILE_CRASH, Outcome.COMPILE_TIMEOUT])
def test_without_a_line_halving_finds_it(tmp_path: Path, outcome: Outcome) -> None:
    fake = FakeCompiler({"c": outcome}, located=False)
    good, bad = run(fake, tmp_path, "abcdefgh")
    assert good == "abdefgh"
    assert bad == {"c": Measurement(outcome, (), "c is bad")}
    assert fake.calls == 7


def test_several_culprits(tmp_path: Path) -> None:
    culprits = {"a": Outcome.COMPILE_ERROR, "d": Outcome.COMPILE_CRASH, "e": Outcome.COMPILE_ERROR}
    good, bad = run(FakeCompiler(culprits, located=True), tmp_path, "abcd", "efgh")
    assert good == "bcfgh"
    assert {name: measurement.outcome for name, measurement in bad.items()} == culprits


def test_an_interruption_ends_the_compilers(tmp_path: Path) -> None:
    fake = FakeCompiler({}, located=True)
    compiler = BatchCompiler(lambda _: fake, tmp_path, 1, 1.0)
    running = compiler.run([batch("a"), batch("b"), batch("c")])
    next(running)
    with pytest.raises(KeyboardInterrupt):
        running.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    assert fake.calls <= 3
