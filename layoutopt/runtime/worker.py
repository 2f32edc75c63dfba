"""The child that touches the device: `python -m layoutopt.runtime.worker --device URI`.

It reads jobs from stdin and answers with events on stdout, one JSON object a line. Before each step
that could hang or crash it says which function it is about, so that the parent
can attribute the failure.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np

from layoutopt.runtime.awake import cores_awake
from layoutopt.runtime.binding import INLINE, Call, Clock, Device, Program
from layoutopt.runtime.comparison import difference
from layoutopt.runtime.element import Array, Value, load_array, save_array
from layoutopt.runtime.job import (
    EVICT,
    ONE_DISPATCH,
    SEVERAL,
    SEVERAL_DISPATCHES,
    TWO_DISPATCHES,
    ArrayFile,
    Event,
    EventKind,
    Job,
    Task,
    decode_job,
    encode_event,
)
from layoutopt.runtime.outcome import Outcome
from layoutopt.runtime.peer import PeerCall, PeerRequest
from layoutopt.runtime.reason import runtime_reason
from layoutopt.runtime.rounds import Runner, time_in_turns
from layoutopt.runtime.sampling import EmptyCall, WeightsFrom, empty_call_ns

Emit = Callable[[Event], None]
CALIBRATION_CALLS = 200
_LONG_NS = 20e9
"""Of a call on one thread, as its time on all of them tells."""


def work(job: Job, device: Device, emit: Emit) -> None:
    """Do one job. Events: per task CHECKING and RUNNING, then its RESULT; DONE at the end."""
    with ExitStack() as peers:
        _work(job, device, peers, emit)
    emit(Event(EventKind.DONE))


def _work(job: Job, device: Device, peers: ExitStack, emit: Emit) -> None:
    programs: dict[str, Program] = {}
    twins: dict[str, Program] = {}
    refused: dict[str, str] = {}
    runners = []
    weights_elsewhere = job.timed and job.protocol.weights_from is not WeightsFrom.CACHES
    has_twins = weights_elsewhere and not job.protocol.reads_copies
    for task in job.tasks:
        if task.peer:
            runner = check(task, partial(_peer_call, task, device, peers), job.timed, emit)
            runners += [] if runner is None else [runner]
            continue
        try:
            if task.module not in programs | refused:
                emit(Event(EventKind.LOADING, task.place))
                programs[task.module] = _load(job, task.module, device)
                if has_twins:
                    twins[task.module] = _load(job, task.module, device)
        except (RuntimeError, ValueError, OSError) as error:
            refused[task.module] = runtime_reason(error)
        program = programs.get(task.module)
        if program is None:
            reason = refused[task.module]
            emit(Event(EventKind.REFUSED, task.place, Outcome.RUN_ERROR, reason=reason))
            continue
        runner = check(task, partial(_call, task, program), job.timed, emit)
        if runner is not None:
            if isinstance(runner.call, Call) and task.reads_weights and task.module in twins:
                runner.twin = twins[task.module].twin(task.function, runner.call)
            if isinstance(runner.call, Call) and task.many:
                runner.many = program.twin(task.many, runner.call)
            runner.held_bytes = _held(job, task, device, runner, emit)
            runners.append(runner)
    if runners:
        inline = job.calibration and device.is_inline
        clock = time.thread_time_ns if inline else time.perf_counter_ns
        with cores_awake(not device.is_inline):
            if job.calibration:
                tiny = device.load(Path(job.calibration), {}, [])
                _calibrate(runners, tiny, clock)
                _evict_weights(job, runners, tiny)
            time_in_turns(job, runners, random.Random(job.protocol.seed), emit, clock)


def _call(task: Task, program: Program) -> Call:
    return program.prepare(task.function, [_value(file) for file in task.arguments])


def _held(job: Job, task: Task, device: Device, runner: Runner, emit: Emit) -> int | None:
    """Memory of a call of a whole module, by the device's account.

    Devices with workers take it from a pool that keeps none, so there it is that of a call whose
    dispatches run in the thread that calls; None where that would take long.
    """
    if job.calibration or not device.has_workers:
        return None if job.calibration else runner.held_bytes
    if device.threads * runner.first_ns > _LONG_NS:
        return None
    emit(Event(EventKind.RUNNING, task.place))
    return _call(task, _load(job, task.module, Device(INLINE, 1))).run_counted()[1]


def _peer_call(task: Task, device: Device, peers: ExitStack) -> PeerCall:
    request = PeerRequest(task.peer, task.module, device.threads, task.arguments, task.outputs)
    return peers.enter_context(PeerCall(request))


def check(
    task: Task, prepare: Callable[[], Call | PeerCall], timed: bool, emit: Emit
) -> Runner | None:
    """Run once and compare; return what is to be timed, None where the task is over."""
    emit(Event(EventKind.CHECKING, task.place))
    try:
        call = prepare()
        emit(Event(EventKind.RUNNING, task.place))
        started = time.perf_counter_ns()
        got, held_bytes = call.run_counted() if isinstance(call, Call) else (call.run(), None)
        first_ns = float(time.perf_counter_ns() - started)
    except (RuntimeError, ValueError, LookupError, OSError) as error:
        emit(Event(EventKind.RESULT, task.place, Outcome.RUN_ERROR, reason=runtime_reason(error)))
        return None
    emit(Event(EventKind.CHECKING, task.place))
    note = task.note
    if task.results:
        expected = [load_array(Path(file.path), file.element) for file in task.results]
        allowed = [load_array(Path(file.path), file.element) for file in task.allowed]
        if reason := difference(got, expected, allowed):
            if not task.as_it_came:
                emit(Event(EventKind.RESULT, task.place, Outcome.MISMATCH, reason=reason))
                return None
            note = reason
    if not timed:
        emit(Event(EventKind.RESULT, task.place, outputs=_keep(task, got)))
        return None
    return Runner(task.place, task.group, task.module, call, first_ns, note, held_bytes)


def _value(file: ArrayFile) -> Value:
    array = load_array(Path(file.path), file.element)
    if not file.scalar:
        return array
    number: np.generic = array.reshape(1)[0]
    return number


def _load(job: Job, module: str, device: Device) -> Program:
    weights = {name: load_array(Path(file.path), file.element) for name, file in job.weights}
    archives = [(scope, Path(path)) for scope, path in job.archives]
    return device.load(Path(module), weights, archives)


def _keep(task: Task, arrays: tuple[Array, ...]) -> tuple[ArrayFile, ...]:
    files = []
    for index, array in enumerate(arrays):
        path = Path(task.outputs) / f"{task.place}_{index}.npy"
        files.append(ArrayFile(str(path), save_array(path, array)))
    return tuple(files)


def _calibrate(runners: Sequence[Runner], program: Program, clock: Clock) -> None:
    """Find out what a call costs without its dispatches, among others and by itself."""
    four = [np.ones(4, np.float32)]
    names = (ONE_DISPATCH, TWO_DISPATCHES, SEVERAL_DISPATCHES)
    one, two, several = (program.prepare(name, four) for name in names)

    def empty(calls: int) -> EmptyCall:
        one_ns, two_ns, several_ns = (
            _fastest_ns(call, clock, calls) for call in (one, two, several)
        )
        return empty_call_ns(one_ns, two_ns, several_ns, SEVERAL)

    among_others, by_itself = empty(CALIBRATION_CALLS // 10), empty(1)
    for runner in runners:
        runner.base_ns = (by_itself if runner.twin else among_others).one_ns
        runner.many_base_ns = by_itself.more_ns


def _evict_weights(job: Job, runners: Sequence[Runner], program: Program) -> None:
    """Where launches read copies of weights, let no sample find those of the one before it."""
    if not job.protocol.reads_copies:
        return
    evict = program.prepare(EVICT, [np.int8(1)])
    reading = {task.place for task in job.tasks if task.reads_weights}
    for runner in runners:
        if runner.place in reading:
            runner.evict = evict


def _fastest_ns(call: Call, clock: Clock, calls: int) -> float:
    call.run()
    return min(call.time_ns(calls, clock) for _ in range(10))


def _follow_parent() -> None:
    """End this process when its parent is gone, even in the middle of a hanging call."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def main() -> None:
    """Serve jobs until stdin ends."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", required=True)
    parser.add_argument("--threads", type=int, default=1)
    arguments = parser.parse_args()
    _follow_parent()
    # Native code may print to stdout: keep the real one for events only.
    events = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)

    def emit(event: Event) -> None:
        events.write(encode_event(event) + "\n")

    try:
        device = Device(arguments.device, arguments.threads)
    except (RuntimeError, ValueError) as error:
        emit(Event(EventKind.REFUSED, outcome=Outcome.RUN_ERROR, reason=runtime_reason(error)))
        os._exit(1)
    emit(Event(EventKind.READY))
    for line in sys.stdin:
        work(decode_job(line), device, emit)
    os._exit(0)  # skips nanobind's leak report, which takes longer than the exit


if __name__ == "__main__":
    main()
