"""What the prices that are known already tell of those that are not.

The time of a candidate over its roofline follows from how its loops run (the maps of its
contractions, with the cliffs of 10 to 50 times between two spellings of one op) and, less, from
its sizes, beside the instructions that its tile needs. Both are learned from what was priced, by
regression on the logarithm of that ratio:
a cost model that is fitted while the search goes on, as in Chen et al., "Learning to Optimize
Tensor Programs" (NeurIPS 2018).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from layoutopt.candidates.candidate import PhysicalForm
from layoutopt.candidates.scheduled import excess_instructions, scheduled_tile
from layoutopt.compiler.processor import VectorRegisters
from layoutopt.ir.extension import Extension
from layoutopt.ir.graph import Op, Structured, each_op
from layoutopt.ir.size import planned
from layoutopt.ir.types import TensorType
from layoutopt.pricing.analytic.form import all_work
from layoutopt.pricing.analytic.lower_bound import Roofs
from layoutopt.pricing.analytic.regression import (
    Before,
    Floats,
    Kernel,
    Level,
    Points,
    Regression,
    told_elsewhere,
)
from layoutopt.pricing.analytic.work import DispatchWork
from layoutopt.pricing.prices import Work
from layoutopt.profiles.experience import Experience
from layoutopt.profiles.target import Target

KERNEL = Kernel(
    levels=(
        Level(0.005, 0.05),  # everything
        Level(0.2, 0.05),  # written in one way
        Level(0.2, 0.05),  # and made by the same rules
        Level(1.5, 0.15),  # of the same loops
        Level(0.005, 0.01),  # and of the same tile
    ),
    length=3.0,
    noise=0.03,
)
"""Variances of the binary logarithm, fitted to the marginal likelihood of 1,400 prices of four
models (CNNs and BERT) on a Zen 4; what they weigh are the prices of the run itself."""
_TILE = 32
LOOPS = 3
"""The level of the loops."""
FEWEST = 16
"""Prices that tell of others at least."""
MOST = 1000
"""Prices that are learned from at most: solving takes time with the cube of their number."""


_TRUSTED = (0.0, 0.5, 0.7, 0.8, 0.9, 0.95)
"""Correlations of prices here with those of an experience; those of the run tell which it is."""
_FEWEST_BESIDE = 4
"""Prices of the run at least that tell which correlation it is, and with which processor."""
_TRUSTED_UNSEEN = 3
"""The place of the one that is taken before there are enough prices to tell."""


BySize = tuple[tuple[float, Sequence[DispatchWork]], ...]
"""(weight, dispatches) of a piece of work, for each size that is planned for."""


@dataclass(frozen=True, slots=True)
class Described:
    """A piece of work by what its time depends on."""

    labels: tuple[Hashable, Hashable, Hashable, Hashable, tuple[Hashable, Hashable]]
    """One for each level of `KERNEL`."""
    place: tuple[float, ...]
    """Binary logarithms of its sizes."""
    base_ns: float
    """Its time at the target's nominal rates."""
    log_instructions: float = 0.0
    """Binary logarithm of how many times those of a fast tile its contraction's tile needs."""

    @property
    def loops(self) -> Hashable:
        """How its loops run: what tells most."""
        return self.labels[LOOPS]

    @property
    def tile(self) -> Hashable:
        """What its registers hold; empty where the compiler chooses."""
        return self.labels[4][1]


def by_size(work: Work, target: Target) -> BySize:
    """The dispatches of a piece of work at each size that is planned for, with its weight."""
    return tuple((piece.weight, all_work(piece.form, target)) for piece in work.everywhere)


def described(
    work: Work,
    sizes: BySize,
    roofs: Roofs,
    made_by: Hashable,
    registers: VectorRegisters | None = None,
) -> Described:
    """A piece of work described by its dispatches ``by_size``.

    ``made_by``: the form and the rules that it comes from. ``registers``: what tiles were chosen
    by.
    """
    bounds = [(weight, sum(map(roofs.lower_bound_ns, parts))) for weight, parts in sizes]
    base_ns = sum(w * ns for w, ns in bounds) / sum(weight for weight, _ in bounds)
    how, loops, tile = _writing(work.form), _loops(work.form), _tiles(work.form)
    labels = (None, how, (how, made_by), loops, (loops, tile))
    needed = 1.0 if registers is None else _excess_instructions(work.form, registers)
    return Described(labels, _place(sizes[0][1]), max(1.0, base_ns), math.log2(needed))


def _structured(form: PhysicalForm) -> list[Structured]:
    return [op for op in each_op(form.graph.ops) if isinstance(op, Structured)]


def _writing(form: PhysicalForm) -> Hashable:
    """Whether contractions are named, tiled, scheduled, or none."""
    return form.region, tuple(
        (op.is_contraction, op.data_tiled, op.generalized, op.schedule is not None)
        for op in _structured(form)
        if op.reduction_dims
    )


def _loops(form: PhysicalForm) -> Hashable:
    """The maps of what is summed up; of forms without sums, of all ops."""
    sums = [op for op in _structured(form) if op.reduction_dims]
    ops: Sequence[Op] = sums or form.graph.ops
    return form.region, tuple(how_it_runs(op, form.graph.types) for op in ops)


def how_it_runs(op: Op, types: Sequence[TensorType]) -> Hashable:
    """How one op runs: a structured one by its maps, an extension by what divides its sizes.

    IREE has other kernels of an attention for sizes that no tile divides, many times as slow.
    """
    if isinstance(op, Structured):
        summed = tuple(op.reduction_dims)
        return op.maps, summed, op.data_tiled, op.generalized, op.schedule is not None
    if isinstance(op, Extension):
        shapes = (types[t].shape for t in (*op.inputs, *op.outputs))
        return type(op).__name__, tuple(
            tuple(planned(size) % _TILE == 0 for size in shape) for shape in shapes
        )
    return type(op).__name__


def _tiles(form: PhysicalForm) -> Hashable:
    return tuple(op.schedule.vector for op in _structured(form) if op.schedule is not None)


def _excess_instructions(form: PhysicalForm, registers: VectorRegisters) -> float:
    """How many times those of a fast tile the largest contraction's tile needs; 1 without one."""
    largest, found = 0, 1.0
    for op in _structured(form):
        tile = scheduled_tile(op) if op.is_contraction else None
        if tile is not None and math.prod(map(planned, op.domain)) > largest:
            largest = math.prod(map(planned, op.domain))
            found = excess_instructions(*tile, registers)
    return found


def _place(parts: Sequence[DispatchWork]) -> tuple[float, ...]:
    contractions = [part.contraction for part in parts if part.contraction is not None]
    largest = max(contractions, key=lambda c: c.operations, default=None)
    sizes = (1, 1, 1, 1) if largest is None else (largest.m, largest.n, largest.k, largest.batch)
    moved = sum(part.size_bytes for part in parts)
    return tuple(math.log2(max(1, n)) for n in (*sizes, moved, len(parts)))


@dataclass(frozen=True)
class Expected:
    """What is expected of each piece of work, in the order that they were given."""

    base_ns: Floats
    log_mean: Floats
    log_deviation: Floats
    trusted: float = 0.0
    """Correlation with what was known before."""

    def at(self, deviations: float) -> Floats:
        """Nanoseconds so many deviations below what is expected."""
        times: Floats = self.base_ns * np.exp2(self.log_mean - deviations * self.log_deviation)
        return times


def names_of(work: Described) -> tuple[str, ...]:
    """The names of its labels, the same in each process."""
    return tuple(hashlib.sha256(repr(each).encode()).hexdigest()[:10] for each in work.labels)


def known_before(
    work: Sequence[Described], names: Sequence[Sequence[str]], experience: Experience
) -> Before:
    """What an experience tells of work that has no price; ``names``: of each one's labels."""
    rows = experience.rows
    labels = [*names, *(experience.names_of(row) for row in rows)]
    places = [*(each.place for each in work), *(row.place for row in rows)]
    points = _points(labels, places)
    own = np.arange(len(work))
    elsewhere = np.arange(len(work), len(points))
    values = [row.log_ratio for row in rows]
    return told_elsewhere(KERNEL, points.part(own), points.part(elsewhere), values)


def expected(
    work: Sequence[Described], known: Mapping[int, float], before: Sequence[Before] = ()
) -> Expected | None:
    """What ``known`` prices in nanoseconds, by number, tell of all work; None where too few are.

    Any number of them does beside what was known ``before``: on several processors, of which the
    prices tell the one that this one is most like; the first, while there are hardly any.
    """
    samples = np.array(sorted(known), np.int64)
    if len(samples) < FEWEST and not before:
        return None
    if len(samples) > MOST:
        samples = samples[np.linspace(0, len(samples) - 1, MOST).astype(np.int64)]
    points = _points([each.labels for each in work], [each.place for each in work])
    base_ns = np.array([each.base_ns for each in work])
    tiles = np.array([each.log_instructions for each in work])
    values = [math.log2(known[int(i)] / base_ns[i]) - tiles[i] for i in samples]
    if not before:
        mean, deviation = Regression(KERNEL, points.part(samples), values).at(points)
        return Expected(base_ns, mean + tiles, deviation)
    few = len(samples) < _FEWEST_BESIDE
    shares = (_TRUSTED[_TRUSTED_UNSEEN],) if few else _TRUSTED
    ways = [
        (share, Before(each.mean - tiles, each.factors).trusted(share))
        for each in (before[:1] if few else before)
        for share in shares
    ]
    found = [Regression(KERNEL, points.part(samples), values, b.part(samples)) for _, b in ways]
    best = max(range(len(found)), key=lambda i: found[i].log_likelihood)
    share, told = ways[best]
    mean, deviation = found[best].at(points, told)
    return Expected(base_ns, mean + tiles, deviation, share)


def _points(labels: Sequence[Sequence[Hashable]], places: Sequence[Sequence[float]]) -> Points:
    numbers: dict[Hashable, int] = {}
    numbered = [
        [numbers.setdefault((level, label), len(numbers)) for level, label in enumerate(own)]
        for own in labels
    ]
    return Points(np.array(numbered, np.int64), np.array(places, np.float64))
