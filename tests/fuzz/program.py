"""Programs: lists of steps, each with its recorded choices, that write a function of MLIR."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from layoutopt.ir.types import Array
from tests.fuzz.draw import Draw
from tests.fuzz.value import Value
from tests.fuzz.writer import Argument, ImpossibleError, Writer

Kind = Callable[[Writer, Draw], None]
"""Adds the ops of one step. Raises ImpossibleError where there is nothing to work on."""


@dataclass(frozen=True)
class Step:
    """One step: what it does, and the choices that it makes on the way."""

    kind: str
    choices: tuple[int, ...] = ()


@dataclass(frozen=True)
class Program:
    """Steps in order; the last choices are which values the function hands back."""

    steps: tuple[Step, ...]
    results: tuple[int, ...] = ()


@dataclass(frozen=True)
class Written:
    """A function as text, with what is known of its arguments and results."""

    program: Program
    """With the choices that were really made."""
    name: str
    text: str
    arguments: tuple[Argument, ...]
    results: tuple[Value, ...]
    constants: tuple[Array, ...]
    """Arrays of its constants of tensor type, in the order in which they stand in the text."""
    beyond_iree: bool
    """Whether IREE refuses some op, or is known to compute something else."""


def generate(rng: random.Random, name: str, kinds: Mapping[str, Kind], names: list[str]) -> Written:
    """A random program: ``names`` are the kinds to draw from, each as often as it is to occur."""
    writer = Writer(name)
    steps: list[Step] = []
    wanted = rng.choice((1, 2, 2, 3, 3, 4, 4, 5, 6, 8))
    for _ in range(wanted * 3):
        step = _run(writer, kinds, rng.choice(names), rng)
        if step is not None:
            steps.append(step)
        if len(steps) >= wanted:
            break
    return _closed(writer, steps, Draw(rng))


def write(program: Program, name: str, kinds: Mapping[str, Kind]) -> Written:
    """Replay a program; steps that have become impossible are left out."""
    writer = Writer(name)
    made = [_run(writer, kinds, step.kind, step.choices) for step in program.steps]
    return _closed(writer, [s for s in made if s is not None], Draw(program.results))


def _run(
    writer: Writer, kinds: Mapping[str, Kind], kind: str, source: random.Random | tuple[int, ...]
) -> Step | None:
    """Run one step; where it is impossible, what it wrote is taken back."""
    draw = Draw(source)
    before = writer.state()
    try:
        kinds[kind](writer, draw)
    except ImpossibleError:
        writer.restore(before)
        return None
    return Step(kind, tuple(draw.choices))


def _closed(writer: Writer, steps: list[Step], draw: Draw) -> Written:
    """Hand back what nothing reads, sometimes more."""
    if not writer.values:
        writer.define(writer.argument((2,), "f32").name, (2,), "f32", 2.0)
    results = [writer.values[-1]]
    if draw.below(4):
        results = [v for v in writer.values if v.name not in writer.used][-4:] or results
    if draw.one_in(8):
        results.append(draw.pick(writer.values))  # one that others read, or the same again
    if draw.one_in(12) and writer.arguments:
        results.append(draw.pick(writer.arguments).value)
    program = Program(tuple(steps), tuple(draw.choices))
    return Written(
        program,
        writer.name,
        writer.text(results),
        tuple(writer.arguments),
        tuple(results),
        tuple(writer.constants),
        writer.beyond_iree,
    )


def without(program: Program, step: int) -> Program:
    """The program without one step."""
    return replace(program, steps=(*program.steps[:step], *program.steps[step + 1 :]))
