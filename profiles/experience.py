"""What prices of other models on a kind of processor tell of those of a new one.

A row says how a piece of work is written and sized (`layoutopt.pricing.learned.Described`), and how
many times its time at the target's nominal rates it took. It is where a run begins, not what its
plan is made of: plans use prices of the machine itself, which say how far the rows are true there.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from importlib import resources

import msgspec

from layoutopt.compiler.processor import Processor
from layoutopt.profiles.target import Target

FILES = {
    Processor.AVX512: (
        "x86-64-avx512.intel.experience.json",
        "x86-64-avx512.amd.experience.json",
    ),
    Processor.AVX2: ("x86-64-avx2.amd.experience.json",),
}
"""Measured with one thread, AVX-512 on a Xeon with AMX and on a Zen 4, AVX2 on a Zen 1, with
IREE 3.13, by `tests/benchmarks/experience.py`."""


@dataclass(frozen=True, slots=True)
class Row:
    """A price."""

    labels: tuple[int, ...]
    """Numbers of the names of its labels."""
    place: tuple[float, ...]
    """Binary logarithms of its sizes."""
    log_ratio: float
    """Binary logarithm of its time over that at nominal rates."""


@dataclass(frozen=True)
class Experience:
    """Prices of other models on one kind of processor."""

    labels: tuple[str, ...]
    """Names: digests of how something is written."""
    rows: tuple[Row, ...]

    def names_of(self, row: Row) -> tuple[str, ...]:
        """The names of a row's labels."""
        return tuple(self.labels[number] for number in row.labels)

    def names(self, level: int) -> frozenset[str]:
        """All names on one level of labels."""
        return frozenset(self.labels[row.labels[level]] for row in self.rows)


def experiences_of(target: Target) -> tuple[Experience, ...]:
    """What is known of a target's kind of processor, on each one that prices come from."""
    own = target.registers if target.measurable else None
    kinds = (p for p in FILES if own is not None and p.registers.computes_like(own))
    return tuple(_read(name) for kind in kinds for name in FILES[kind])


@functools.cache
def _read(name: str) -> Experience:
    text = resources.files("layoutopt.profiles").joinpath(name).read_text("utf-8")
    return msgspec.convert(json.loads(text), Experience)
