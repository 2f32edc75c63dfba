"""Make a failing program small: fewer steps, fewer results, smaller choices."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.fuzz.program import Program, Step, Written, without

Fails = Callable[[Program], Written | None]
"""Writes a program and says whether it still fails in the same way: as written, else None."""


def shrunk(program: Written, fails: Fails, limit_s: float = 60.0) -> Written:
    """The smallest program found that still fails. ``program`` itself fails."""
    deadline = time.monotonic() + limit_s
    best = program
    progress = True
    while progress:
        progress = False
        for candidate in _smaller(best.program):
            if time.monotonic() > deadline:
                return best
            found = fails(candidate)
            if found is not None and _size(found) < _size(best):
                best, progress = found, True
                break
    return best


def _size(written: Written) -> tuple[int, int, int, int]:
    """What is small: steps, then results, then text, then choices."""
    choices = sum(sum(step.choices) for step in written.program.steps)
    return len(written.program.steps), len(written.results), len(written.text), choices


def _smaller(program: Program) -> Iterator[Program]:
    """Programs that are smaller in one respect, the boldest first."""
    count = len(program.steps)
    for length in (count // 2, count // 4):
        for first in range(0, count if length > 1 else 0, max(length, 1)):
            kept = (*program.steps[:first], *program.steps[first + length :])
            yield replace(program, steps=kept)
    for place in reversed(range(count)):
        yield without(program, place)
    if program.results:
        yield replace(program, results=())
    for number, step in enumerate(program.steps):
        for choices in _smaller_choices(step.choices):
            steps = list(program.steps)
            steps[number] = Step(step.kind, choices)
            yield replace(program, steps=tuple(steps))
    for results in _smaller_choices(program.results):
        yield replace(program, results=results)


def _smaller_choices(choices: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Without a tail, with zeros, with halves, with one less; missing choices are zeros."""
    stripped = choices
    while stripped and not stripped[-1]:
        stripped = stripped[:-1]
    for length in (0, len(stripped) // 2, len(stripped) - 1):
        if 0 <= length < len(stripped):
            yield stripped[:length]
    for place, chosen in enumerate(stripped):
        for smaller in dict.fromkeys((0, chosen // 2, chosen - 1)):
            if 0 <= smaller < chosen:
                yield (*stripped[:place], smaller, *stripped[place + 1 :])
