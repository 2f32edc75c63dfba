"""Prices of candidates and conversions: measured where the target is here, else estimated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from layoutopt.analytic import estimate_ns
from layoutopt.candidate import Candidate, PhysicalForm, physical_form
from layoutopt.cluster import Cluster
from layoutopt.conversion import conversion_form, lower_packs
from layoutopt.graph import Graph
from layoutopt.pricing import candidate_benchmark, conversion_benchmark
from layoutopt.profiles.target import Target
from layoutopt.rules.rule import Refusal
from layoutopt.runtime.benchmark import Benchmark
from layoutopt.runtime.measure import Measurement, Measurer
from layoutopt.runtime.progress import Progress
from layoutopt.selection import Conversion, is_free


@dataclass(frozen=True, slots=True)
class Price:
    """What one candidate or conversion costs, or why it was refused."""

    cost_ns: int | None
    reason: str = ""


class Pricer(Protocol):
    """A source of prices for one target."""

    source: str

    def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
        """A price for each piece of work, in order."""


@dataclass(frozen=True)
class Work:
    """Something to price: its form, and how to benchmark it."""

    form: PhysicalForm
    benchmark: Benchmark
    group: int
    """Pieces of one group compete: cliffs among them are measured with few samples."""


class Analytic:
    """Estimates from the target's rates."""

    source = "analytic"

    def __init__(self, target: Target) -> None:
        self.target = target

    def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
        """Estimates never refuse."""
        return [Price(estimate_ns(w.form, self.target)) for w in work]


class Measured:
    """Measurements on this machine."""

    source = "measured"

    def __init__(self, measurer: Measurer) -> None:
        self.measurer = measurer

    def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
        """Medians; what does not compile, run or compute the right numbers is refused."""
        paid = [w for w in work if not w.form.is_free]
        measured = iter(
            self.measurer.measure([w.benchmark for w in paid], progress, [w.group for w in paid])
        )
        return [Price(0) if w.form.is_free else _price(next(measured)) for w in work]


def _price(measurement: Measurement) -> Price:
    if measurement.ok:
        return Price(max(1, measurement.median_ns))
    return Price(None, f"{measurement.outcome.value}: {measurement.reason}")


def candidate_work(
    graph: Graph,
    clusters: Sequence[Cluster],
    candidates: Sequence[Candidate],
    target: Target,
    first_group: int,
) -> tuple[list[tuple[Candidate, Work]], list[tuple[Candidate, str]]]:
    """The work of pricing each candidate, and those that have no form, with the reason."""
    found: list[tuple[Candidate, Work]] = []
    refused: list[tuple[Candidate, str]] = []
    for candidate in candidates:
        cluster = clusters[candidate.cluster]
        form = physical_form(graph, cluster, candidate)
        if isinstance(form, Refusal):
            refused.append((candidate, form.reason))
            continue
        benchmark = candidate_benchmark(graph, cluster, candidate, form, target)
        found.append((candidate, Work(form, benchmark, first_group + candidate.cluster)))
    return found, refused


def conversion_work(
    graph: Graph,
    conversions: Sequence[Conversion],
    target: Target,
    first_group: int,
    lowered: bool = False,
) -> list[tuple[Conversion, Work]]:
    """The work of pricing each conversion that moves something.

    ``lowered``: packs are written as reshapes and transposes.
    """
    found: list[tuple[Conversion, Work]] = []
    for i, conversion in enumerate(conversions):
        if is_free(graph, conversion):
            continue
        form = conversion_form(graph, *conversion)
        if lowered:
            form = replace(form, graph=lower_packs(form.graph))
        benchmark = conversion_benchmark(graph, *conversion, form, target)
        found.append((conversion, Work(form, benchmark, first_group + i)))
    return found
