"""What parent and worker say to each other: one JSON object a line."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

import msgspec

from layoutopt.runtime.outcome import Outcome
from layoutopt.runtime.sampling import Protocol

ONE_DISPATCH, TWO_DISPATCHES = "one_dispatch", "two_dispatches"
"""Functions of four f32 numbers, with one and two tiny dispatches."""
SEVERAL_DISPATCHES = "several_dispatches"
"""The same with more of them."""
EVICT = "evict"
"""A function of one byte that fills memory of the device with it."""
SEVERAL = 34
"""Of these: two, and as many more as make their launches stand out."""


@dataclass(frozen=True, slots=True)
class ArrayFile:
    """An array on disk (.npy) and its MLIR element type."""

    path: str
    element: str
    scalar: bool = False
    """One number, which a function takes as such and not as a tensor."""


@dataclass(frozen=True, slots=True)
class Task:
    """One function to run: with `results` it is checked, with `outputs` its results are kept.

    `place` is its name in every event. `outputs` is a folder, empty where no results are wanted.
    `allowed` runs along `results`. `note` goes out with the times. With `as_it_came` a difference
    is such a note; else it is a refusal.
    """

    place: int
    module: str
    function: str
    arguments: tuple[ArrayFile, ...]
    results: tuple[ArrayFile, ...] = ()
    allowed: tuple[ArrayFile, ...] = ()
    note: str = ""
    as_it_came: bool = False
    group: int = 0
    outputs: str = ""
    reads_weights: bool = False
    """Whether where its weights are counts in its time."""
    many: str = ""
    """The function that launches the same many times in one submission; empty where none does."""
    peer: str = ""
    """The runtime that runs ``module``, which is an ONNX model then; empty for IREE's own."""


@dataclass(frozen=True, slots=True)
class Job:
    """Functions that are checked one after another, then timed in turns.

    `weights` are the parameters of scope "weights", `archives` are (scope, file) beside them.
    `best_ns` holds the best price known per group. `calibration` is a module with the functions
    `ONE_DISPATCH`, `TWO_DISPATCHES` and `SEVERAL_DISPATCHES`, and with `EVICT` where launches read
    copies of their weights in turn: times are without what an empty call costs then, and those of
    the calling thread where it does all the work. Without `timed` the functions only run. With
    `together`, alternatives are timed for equally long, all but those that are clearly beaten.
    """

    tasks: tuple[Task, ...]
    protocol: Protocol
    weights: tuple[tuple[str, ArrayFile], ...] = ()
    archives: tuple[tuple[str, str], ...] = ()
    best_ns: tuple[tuple[int, float], ...] = ()
    calibration: str = ""
    timed: bool = True
    together: bool = False


class EventKind(Enum):
    """What an event tells."""

    READY = "ready"
    LOADING = "loading"
    CHECKING = "checking"
    RUNNING = "running"
    RESULT = "result"
    REFUSED = "refused"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class Event:
    """One line from the worker. `place` is -1 where it is about the whole job."""

    kind: EventKind
    place: int = -1
    outcome: Outcome = Outcome.OK
    samples_ns: tuple[int, ...] = ()
    reason: str = ""
    outputs: tuple[ArrayFile, ...] = field(default=())
    held_bytes: int | None = None


def encode_job(job: Job) -> str:
    """Write a job as one line."""
    return msgspec.json.encode(job).decode()


def decode_job(line: str) -> Job:
    """Read a job that `encode_job` wrote."""
    return msgspec.json.decode(line, type=Job)


def encode_event(event: Event) -> str:
    """Write an event as one line."""
    return msgspec.json.encode(event).decode()


def decode_event(line: str) -> Event:
    """Read an event that `encode_event` wrote."""
    return msgspec.json.decode(line, type=Event)
