"""Whether modules compute the same: run on the same inputs, each result compared."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

from layoutopt.runtime.element import Array, Value
from layoutopt.runtime.model import Caller, FunctionSignature, ModelCall, Results
from layoutopt.verification.discrepancy import Allowed, Discrepancy, discrepancy
from layoutopt.verification.input_kinds import Arguments, InputKind, inputs_of, is_floating, nudged
from layoutopt.verification.input_sizes import (
    Sizes,
    planned_points,
    sizes_around,
    sizes_to_try,
)
from layoutopt.verification.verified import FunctionVerified, Subject

Archives = Sequence[tuple[str, Path]]
"""(scope, file) of parameters."""

_ALWAYS = (InputKind.NORMAL, InputKind.SMALL, InputKind.TINY)
"""Every function is compared on these, the others as time allows."""
_MORE = tuple(kind for kind in InputKind if kind not in _ALWAYS)
_BUDGET_S = 4.0
"""Seconds for running one function on more kinds of inputs than it must be run on."""
_AMPLIFIED = 8.0
"""The plan may be off by so many times what the original is off by when its inputs are rounded."""
_NUDGES = 3

Run = Callable[[str, Sequence[Sequence[Value]]], list[Results]]
"""Call a function of one module on several inputs."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """Inputs of one kind; ``sizes``: those of dynamic dims, if there are any."""

    kind: InputKind
    sizes: Sizes | None
    inputs: Sequence[Value]

    @property
    def name(self) -> str:
        """As the report names it."""
        return self.kind.value if self.sizes is None else f"{self.kind.value} at {self.sizes}"


@dataclass(frozen=True, slots=True)
class Timed:
    """Inputs of a size that is planned for."""

    weight: float
    inputs: Sequence[Value]
    point: int | None = None
    """The place of the size among those that are planned for."""


@dataclass(frozen=True)
class Compared:
    """What came of a function, and inputs that the original took, for timing."""

    verified: FunctionVerified
    inputs: Sequence[Value] | None = None
    timed: Sequence[Timed] = ()
    """What it is timed on: inputs at each size that is planned for."""
    expected: Sequence[Array] = ()
    """What the original gave for ``inputs``."""


@dataclass
class _Record:
    """What is known so far about one function."""

    done: list[tuple[Attempt, Results, Discrepancy]] = field(default_factory=list)
    skipped: list[tuple[str, str]] = field(default_factory=list)
    failed: int = 0
    """Of these, inputs on which the original does not run."""
    excuses: list[str] = field(default_factory=list)
    """Of these, why the plan may differ: the original does from itself by as much."""


def run_on(module: Path, caller: Caller, peer: str = "") -> Run:
    """Run functions of a compiled module; of an ONNX model, where another runtime is to run it."""

    def run(function: str, inputs: Sequence[Sequence[Value]]) -> list[Results]:
        return caller.run([ModelCall(module, function, values, peer) for values in inputs])

    return run


def compare_function(
    subject: Subject,
    signature: FunctionSignature | None,
    original: Run,
    plan: Run,
    reference: str = "the original",
    budget_s: float = _BUDGET_S,
) -> Compared:
    """Run a function of both modules on inputs of several kinds, and compare each result.

    ``signature``: what the compiled module declares, if it does.
    """
    called = _signature(subject, signature)
    if called is None:
        reason = "the compiled module does not declare how it is called"
        return Compared(FunctionVerified(subject.name, unverified=reason))
    if called.unknown:
        reason = f"it takes {called.unknown}, which no value can be made up for"
        return Compared(FunctionVerified(subject.name, unverified=reason))
    arguments = Arguments(called.kinds, subject.integers)
    record = _Record()
    compare = partial(_compare, subject, original, plan, reference, record)
    started = time.monotonic()
    points = planned_points(subject.shapes, subject.points)
    sizes: tuple[Sizes | None, ...] = (None,)
    if arguments.is_dynamic:
        around = sizes_around(subject.shapes, subject.bodies, subject.points)
        wanted = (*(s for _, s in points), *around, *sizes_to_try(subject.shapes))
        tried = [s.going_together(subject.graph) for s in wanted]
        sizes = tuple(s for i, s in enumerate(tried) if s not in tried[:i])
    compare([_attempt(arguments, InputKind.NORMAL, size) for size in sizes])
    size = record.done[0][0].sizes if record.done else sizes[0]
    compare([_attempt(arguments, kind, size) for kind in _ALWAYS[1:]])
    attempts = len(sizes) + len(_ALWAYS) - 1
    each_s = (time.monotonic() - started) / attempts
    room = len(_MORE) if not record.done else min(len(_MORE), int(budget_s / each_s))
    if called.arguments:
        compare([_attempt(arguments, kind, size) for kind in _MORE[:room]])
        record.skipped += [(kind.value, "for want of time") for kind in _MORE[room:]]
    return _compared(subject, record, points)


def _signature(subject: Subject, declared: FunctionSignature | None) -> FunctionSignature | None:
    """What the compiled module declares, with what the model tells of it; None where none does.

    A module that went through IREE's input conversion comes without declarations.
    """
    if declared is None:
        known = subject.arguments
        return None if known is None else FunctionSignature(subject.name, known, ())
    return declared if subject.arguments is None else declared.seen_through(subject.arguments)


def _attempt(arguments: Arguments, kind: InputKind, sizes: Sizes | None) -> Attempt:
    sized = arguments if sizes is None else arguments.sized(sizes)
    return Attempt(kind, sizes, inputs_of(sized, kind))


def _compare(
    subject: Subject,
    original: Run,
    plan: Run,
    reference: str,
    record: _Record,
    attempts: Sequence[Attempt],
) -> None:
    """Run the attempts that the original takes; add what came of them to the record."""
    if any(d.failure for _, _, d in record.done):
        return
    expected = original(subject.name, [a.inputs for a in attempts])
    taken: list[tuple[Attempt, Results]] = []
    for attempt, results in zip(attempts, expected, strict=True):
        if results.reason:
            record.skipped.append((attempt.name, f"{reference} fails: {results.reason}"))
            record.failed += 1
        elif attempt.kind is InputKind.LARGE and not _all_finite(results.arrays):
            record.skipped.append((attempt.name, f"{reference} overflows"))
        else:
            taken.append((attempt, results))
    got = plan(subject.name, [packed(subject, a.inputs) for a, _ in taken])
    for (attempt, results), mine in zip(taken, got, strict=True):
        found = _difference(subject, mine, results, reference)
        ran = not mine.reason
        own = (
            _own_errors(subject, original, attempt, results, found) if found.failure and ran else ""
        )
        if own:
            excuse = f"{reference} {own}"
            record.skipped.append((attempt.name, excuse))
            record.excuses.append(excuse)
            continue
        record.done.append((attempt, results, found))


def _difference(subject: Subject, got: Results, expected: Results, reference: str) -> Discrepancy:
    if got.reason:
        return Discrepancy(np.inf, np.inf, f"{got.reason} where {reference} runs")
    shapes = [[a.shape for a in results.arrays] for results in (got, expected)]
    same = shapes[0] == shapes[1]
    arrays = unpacked(subject, got.arrays, expected.arrays) if same else got.arrays
    return discrepancy(arrays, expected.arrays, subject.allowed, reference)


def _own_errors(
    subject: Subject, original: Run, attempt: Attempt, expected: Results, found: Discrepancy
) -> str:
    """What the original does by itself that differs by as much as was found; empty for nothing.

    It may not repeat its own results (a race in a kernel), or amplify roundings of its inputs.
    """
    nudges = [nudged(attempt.inputs, seed) for seed in range(_NUDGES)]
    again, *moved = (
        None if run.reason else discrepancy(run.arrays, expected.arrays, subject.allowed, "")
        for run in original(subject.name, [attempt.inputs, *nudges])
    )
    if again is not None and again.failure:
        return "gives other results when it runs again"
    if any(one is not None and _as_far(one, found) for one in moved):
        return "turns rounding into as much"
    return ""


def _as_far(moved: Discrepancy, found: Discrepancy) -> bool:
    if not np.isfinite(found.max_rel):
        return bool(moved.failure) and not np.isfinite(moved.max_rel)
    return _AMPLIFIED * moved.max_rel >= found.max_rel


def _compared(subject: Subject, record: _Record, points: Sequence[tuple[float, Sizes]]) -> Compared:
    skipped = tuple(record.skipped)
    allowed = subject.allowed.tolerance
    if not record.done:
        reason = f"none of the inputs that were tried works: {skipped[0][1]}"
        failing = record.failed == len(skipped)
        return Compared(
            FunctionVerified(
                subject.name, skipped=skipped, tolerance=allowed, unverified=reason,
                original_fails=failing, excuses=tuple(record.excuses),
            )
        )  # fmt: skip
    found = [d for _, _, d in record.done]
    wrong = next(((a, d) for a, _, d in record.done if d.failure), None)
    attempt, results, _ = record.done[0]
    verified = FunctionVerified(
        subject.name,
        tuple(a.name for a, _, _ in record.done),
        skipped,
        max(d.max_abs for d in found),
        max(d.max_rel for d in found),
        allowed,
        f"inputs '{wrong[0].name}', {wrong[1].failure}" if wrong else "",
        weak=_weakness(
            subject.allowed,
            attempt.inputs,
            [r.arrays for a, r, _ in record.done if a.sizes == attempt.sizes],
        ),
        tipped=sum(d.tipped for d in found),
        excuses=tuple(record.excuses),
    )
    normal = [a for a, _, _ in record.done if a.kind is InputKind.NORMAL]
    timed = [
        Timed(weight, a.inputs, place)
        for place, (weight, sizes) in enumerate(points)
        for a in normal
        if a.sizes == sizes
    ]
    return Compared(verified, attempt.inputs, timed or [Timed(1.0, attempt.inputs)], results.arrays)


def _weakness(allowed: Allowed, inputs: Sequence[Value], results: Sequence[Sequence[Array]]) -> str:
    """Why it says little that results agree; empty where it says much."""
    arrays = [a for found in results for a in found if a.size]
    if not arrays:
        return "it has no results"
    if not any(_some_finite(a) for a in arrays):
        return "its results are NaN or Inf for all inputs tried"
    if not inputs or len(results) < 2:
        return ""
    same = (not discrepancy(r, results[0], allowed, "").failure for r in results[1:])
    if all(same):
        return "its results were the same for all inputs tried, or nearly (a saturated softmax?)"
    return ""


def _some_finite(array: Array) -> bool:
    return not is_floating(array.dtype) or bool(np.isfinite(array.astype(np.float64)).any())


def _all_finite(arrays: Sequence[Array]) -> bool:
    floats = (a.astype(np.float64) for a in arrays if is_floating(a.dtype))
    return all(bool(np.isfinite(a).all()) for a in floats)


def packed(subject: Subject, inputs: Sequence[Value]) -> list[Value]:
    """Inputs as the written module takes them: in the type of the original, in their layouts."""
    found = list(inputs)
    for place, layout in subject.taken.items():
        array = np.asarray(inputs[place])
        found[place] = layout.apply(array).reshape(array.shape)
    return found


def unpacked(
    subject: Subject, results: Sequence[Array], like: Sequence[Array]
) -> tuple[Array, ...]:
    """Results of the written module as the original gives them: out of their layouts."""
    found = list(results)
    for place, layout in subject.given.items():
        shape = like[place].shape
        found[place] = layout.undo(results[place].reshape(layout.physical_shape(shape)), shape)
    return tuple(found)
