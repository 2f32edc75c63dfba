"""The logic of `Measurer` with a compiler and a device that are made up."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from layoutopt.errors import InputError
from layoutopt.pricing.measure.benchmark import Benchmark, Case, Operand, Result
from layoutopt.pricing.measure.measure import Measurement, Measurer, MeasureSetting, Outcome
from layoutopt.profiles.store import Store
from layoutopt.runtime.compile import CompileOutcome
from layoutopt.runtime.job import Job
from layoutopt.runtime.supervisor import Verdict

TYPE = "tensor<4xf32>"


class Fakes:
    """Compiles anything; a candidate's time is the number in its body."""

    def __init__(self) -> None:
        self.compiled: list[str] = []
        self.jobs: list[Job] = []
        self.texts: dict[str, str] = {}
        self.verdict: Callable[[int], Measurement] = lambda ns: Measurement(Outcome.OK, (ns,))
        self.unloadable = ""
        self.closed = 0

    def compile_one(
        self, source: Path, output: Path, flags: tuple[str, ...], timeout_s: float
    ) -> CompileOutcome:
        text = source.read_text()
        self.compiled.append(text)
        self.texts[str(output)] = text
        output.touch()
        if "does not compile" in text:
            return CompileOutcome(False, Outcome.COMPILE_ERROR, "refused", 0.0)
        return CompileOutcome(True, Outcome.OK, "", 0.0)

    def run(self, job: Job) -> Iterator[Verdict]:
        self.jobs.append(job)
        text = self.texts[job.tasks[0].module]
        broken = bool(self.unloadable) and self.unloadable in text
        for task in job.tasks:
            assert all(Path(file.path).exists() for file in task.arguments + task.results)
            if broken:
                yield Verdict(task.place, Measurement(Outcome.RUN_CRASH, (), "no"), loaded=False)
                continue
            function = text.partition(f"@{task.function}(")[2]
            number = int(function.partition("time = ")[2].partition(" ")[0])
            yield Verdict(task.place, self.verdict(number))

    def close(self) -> None:
        self.closed += 1


def benchmark(number: int, flags: tuple[str, ...] = ("--a",), note: str = "") -> Benchmark:
    array = np.ones(4, np.float32)
    body = f'%r = "test.op"(%x) {{time = {number} : i64, note = "{note}"}}'
    return Benchmark(
        (Operand("%x", TYPE),),
        (),
        body,
        (Result("%r", TYPE),),
        flags,
        lambda: Case((array,), (), (array,)),
    )


class Recorder:
    def __init__(self) -> None:
        self.candidates = 0
        self.done = 0
        self.texts: list[str] = []
        self.seconds: list[float] = []

    def total(self, candidates: int) -> None:
        self.candidates = candidates

    def advance(self, candidates: int = 1) -> None:
        self.done += candidates

    def description(self, text: str) -> None:
        self.texts.append(text)

    def remaining(self, seconds: float) -> None:
        self.seconds.append(seconds)


@pytest.fixture
def fakes() -> Fakes:
    return Fakes()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "prices.sqlite") as opened:
        yield opened


def measurer(store: Store, fakes: Fakes, jobs: int = 1, since: str = "") -> Measurer:
    return Measurer(
        store,
        MeasureSetting("host", compile_jobs=jobs, since=since, command="test"),
        compile_one=fakes.compile_one,
        timer=fakes,
    )


def test_results_come_in_order_and_equal_candidates_once(store: Store, fakes: Fakes) -> None:
    numbers = [5, 3, 5, 9, 3]
    progress = Recorder()
    results = measurer(store, fakes).measure([benchmark(n) for n in numbers], progress)
    assert [result.median_ns for result in results] == numbers
    assert sum(len(job.tasks) for job in fakes.jobs) == 3
    assert (progress.candidates, progress.done) == (5, 5)
    assert progress.texts == ["compiling 3 candidates", "timing 3 candidates"]
    assert progress.seconds[0] > progress.seconds[-1] == 0.0


def test_a_second_run_measures_nothing(store: Store, fakes: Fakes) -> None:
    candidates = [benchmark(n) for n in range(1, 5)] + [benchmark(5, note="does not compile")]
    first = measurer(store, fakes).measure(candidates)
    calls = len(fakes.compiled), len(fakes.jobs)
    progress = Recorder()
    assert measurer(store, fakes).measure(candidates, progress) == first
    assert (len(fakes.compiled), len(fakes.jobs)) == calls
    assert progress.done == 5
    assert first[-1] == Measurement(Outcome.COMPILE_ERROR, (), "refused")


def test_times_from_before_a_moment_are_taken_anew_but_refusals_hold(
    store: Store, fakes: Fakes
) -> None:
    candidates = [benchmark(1), benchmark(2, note="does not compile")]
    first = measurer(store, fakes)
    first.measure(candidates)
    (date,) = {record.provenance.date_utc for record in store.records()}
    same = measurer(store, fakes, since=date)
    later = measurer(store, fakes, since=date.replace("20", "21", 1))
    assert [m is not None for m in same.known(candidates)] == [True, True]
    assert [m is not None for m in later.known(candidates)] == [False, True]
    calls = len(fakes.jobs)
    same.measure(candidates)
    assert len(fakes.jobs) == calls
    later.measure(candidates)
    assert [len(job.tasks) for job in fakes.jobs[calls:]] == [1]


def test_the_store_says_where_a_price_comes_from(store: Store, fakes: Fakes) -> None:
    measuring = measurer(store, fakes)
    candidate = benchmark(7)
    measuring.measure([candidate])
    record = store.get_many([measuring.key(candidate)])[measuring.key(candidate)]
    assert record.target_fingerprint == "host local-sync threads=1"
    assert (record.flags, record.samples_ns, record.outcome) == (("--a",), (7,), "ok")
    assert record.text == candidate.text
    assert record.provenance.command == "test"
    assert record.provenance.date_utc.endswith("Z")


def test_competitors_share_a_module_and_know_the_best_so_far(store: Store, fakes: Fakes) -> None:
    measuring = measurer(store, fakes)
    measuring.measure([benchmark(100), benchmark(50)], group=[1, 2])
    order = [benchmark(100), benchmark(50), benchmark(60), benchmark(70), benchmark(80)]
    measuring.measure(order, group=[1, 2, 1, 2, 1])
    (job,) = fakes.jobs[1:]
    assert [task.group for task in job.tasks] == [1, 1, 2]
    assert dict(job.best_ns) == {1: 100.0, 2: 50.0}


def test_a_module_that_does_not_load_is_split(store: Store, fakes: Fakes) -> None:
    fakes.unloadable = "bad"
    candidates = [benchmark(1), benchmark(2, note="bad"), benchmark(3), benchmark(4)]
    results = measurer(store, fakes).measure(candidates)
    assert [result.outcome for result in results] == [
        Outcome.OK,
        Outcome.RUN_CRASH,
        Outcome.OK,
        Outcome.OK,
    ]


def test_parts_of_a_split_module_leave_the_others_alone(store: Store, fakes: Fakes) -> None:
    """Modules that wait for their turn are not written over."""
    fakes.unloadable = "bad"
    measurer(store, fakes).measure([benchmark(number, note="bad") for number in range(1, 17)])
    assert len(fakes.texts) == len(fakes.compiled) > 16


def test_what_another_process_stored_meanwhile_is_not_timed(store: Store, fakes: Fakes) -> None:
    first = measurer(store, fakes)
    candidates = [benchmark(1), benchmark(2)]
    compile_plainly = fakes.compile_one

    def compile_while_others_store(
        source: Path, output: Path, flags: tuple[str, ...], timeout_s: float
    ) -> CompileOutcome:
        outcome = compile_plainly(source, output, flags, timeout_s)
        with Store(store.path) as own:
            measurer(own, others).measure(candidates[:1])
        return outcome

    others = Fakes()
    others.verdict = lambda ns: Measurement(Outcome.OK, (777,))
    plan = Measurer(
        store,
        MeasureSetting("host", compile_jobs=1),
        compile_one=compile_while_others_store,
        timer=fakes,
    )
    assert [result.median_ns for result in plan.measure(candidates)] == [777, 2]
    assert len(fakes.jobs[0].tasks) == 1
    first.close()


def own_folders() -> set[Path]:
    """What this process has under the folder for temporary files; other tests run beside it."""
    return set(Path(tempfile.gettempdir()).glob(f"layoutopt-{os.getpid()}-*"))


def test_an_interruption_keeps_what_was_measured(store: Store, fakes: Fakes) -> None:
    def interrupt_at_three(number: int) -> Measurement:
        if number == 3:
            raise KeyboardInterrupt
        return Measurement(Outcome.OK, (number,))

    fakes.verdict = interrupt_at_three
    before = own_folders()
    measuring = measurer(store, fakes)
    with pytest.raises(KeyboardInterrupt):
        measuring.measure([benchmark(n) for n in (1, 2, 3, 4)], group=[0, 0, 0, 0])
    assert fakes.closed == 1
    assert own_folders() <= before
    assert [record.samples_ns for record in store.records() if record.samples_ns] != []
    assert sum(1 for _ in store.records()) == 2
    fakes.verdict = lambda ns: Measurement(Outcome.OK, (ns,))
    measuring.measure([benchmark(n) for n in (1, 2, 3, 4)])
    assert len(fakes.jobs[-1].tasks) == 2


def test_a_case_that_does_not_fit_is_the_callers_mistake(store: Store, fakes: Fakes) -> None:
    array = np.ones(5, np.float32)
    wrong = Benchmark(
        (Operand("%x", TYPE),),
        (),
        '%r = "test.op"(%x) {time = 1 : i64}',
        (Result("%r", TYPE),),
        (),
        lambda: Case((array,), (), (array,)),
    )
    with pytest.raises(InputError) as caught:
        measurer(store, fakes).measure([wrong])
    assert str(caught.value) == (
        "%x: expected tensor<4xf32>, but got float32 of shape (5,); correct the candidate's case"
    )


def test_nothing_to_measure(store: Store, fakes: Fakes) -> None:
    assert measurer(store, fakes).measure([]) == []
