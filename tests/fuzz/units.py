"""Many functions in one module: cut into units that compile with or without each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from layoutopt.runtime.compile import CompileOutcome, compile_file
from layoutopt.runtime.outcome import Outcome

ONE_LIMIT_S = 60.0
QUICK = ("--mlir-disable-threading", "--iree-llvmcpu-debug-symbols=false")
"""IREE's own checks stay on: without them it computes wrong numbers where it would refuse."""


@dataclass(frozen=True)
class Unit:
    """A function with all that only it needs: globals, initializers, functions that it calls."""

    name: str
    text: str


def cut_into_units(text: str, names: Sequence[str]) -> tuple[str, tuple[Unit, ...]]:
    """The lines in front of the module's ops, and a unit for each of ``names``.

    Ops belong to the next function of that name; a helper's name starts with that of its caller.
    """
    head, pieces = _top_level(text)
    wanted, units, kept = set(names), [], ""
    for piece in pieces:
        kept += piece
        name = _symbol(piece)
        if name in wanted:
            units.append(Unit(name, kept))
            kept = ""
    assert not kept, "ops behind the last function"
    return head, tuple(units)


def _top_level(text: str) -> tuple[str, list[str]]:
    """What stands before the module's braces, and each op between them."""
    lines = text.splitlines(keepends=True)
    start = next(i for i, line in enumerate(lines) if line.startswith("module"))
    pieces: list[str] = []
    for line in lines[start + 1 :]:
        if line.startswith("}"):
            break
        if line.startswith("  ") and line[2] not in " }":
            pieces.append("")
        pieces[-1] += line
    return "".join(lines[:start]), pieces


def _symbol(piece: str) -> str:
    first = piece.partition("\n")[0]
    if "func.func" not in first:
        return ""
    return first.partition("@")[2].partition("(")[0]


@dataclass(frozen=True)
class Compiled:
    """Units in one compiled module."""

    units: tuple[Unit, ...]
    module: Path


@dataclass(frozen=True)
class Refused:
    """A unit that does not compile even alone, or that errors point at."""

    unit: Unit
    reason: str
    crash: bool


def compile_units(
    head: str, units: Sequence[Unit], flags: tuple[str, ...], folder: Path
) -> Iterator[Compiled | Refused]:
    """Compile all units in as few modules as possible."""
    numbers = count()
    waiting = [tuple(units)]
    while waiting:
        group = waiting.pop()
        if not group:
            continue
        outcome, first_lines, module = _compile(head, group, flags, folder, next(numbers))
        if outcome.ok:
            yield Compiled(group, module)
            continue
        crash = outcome.outcome in (Outcome.COMPILE_CRASH, Outcome.COMPILE_TIMEOUT)
        if len(group) == 1:
            yield Refused(group[0], outcome.reason, crash)
            continue
        refused = {
            max(i for i, first in enumerate(first_lines) if first <= line): reason
            for line, reason in outcome.errors.items()
            if line >= first_lines[0]
        }
        for place, reason in refused.items():
            yield Refused(group[place], reason, False)
        left = tuple(unit for place, unit in enumerate(group) if place not in refused)
        middle = len(left) // 2
        waiting += [left] if refused else [left[:middle], left[middle:]]


def _compile(
    head: str, units: Sequence[Unit], flags: tuple[str, ...], folder: Path, number: int
) -> tuple[CompileOutcome, list[int], Path]:
    text, first_lines = head + "module {\n", []
    for unit in units:
        first_lines.append(text.count("\n") + 1)
        text += unit.text
    source = folder / f"units{number}.mlir"
    source.write_text(text + "}\n")
    module = source.with_suffix(".vmfb")
    limit_s = ONE_LIMIT_S * (1 + len(units) / 8)
    return compile_file(source, module, (*flags, *QUICK), limit_s), first_lines, module
