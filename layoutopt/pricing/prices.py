"""Prices of candidates and conversions: measured where the target is here, else estimated."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol, TypeVar

from layoutopt.candidates.candidate import Candidate, PhysicalForm, physical_form
from layoutopt.candidates.choice import is_free
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.conversion import Conversion, conversion_form, lower_packs
from layoutopt.ir.graph import Graph
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.types import Array
from layoutopt.pricing.analytic.compiled_kernels import Facts, Kernels
from layoutopt.pricing.analytic.estimate import FREE, estimate_form, estimate_steps
from layoutopt.pricing.analytic.lower_bound import LAUNCH_NS
from layoutopt.pricing.analytic.work import Estimate
from layoutopt.pricing.benchmarks import candidate_benchmark, conversion_benchmark
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.measure.measure import Measurement, Place, known_measurements
from layoutopt.pricing.references import References
from layoutopt.pricing.source import PriceSource
from layoutopt.pricing.structural_hash import StructuralHash
from layoutopt.profiles.store import Store
from layoutopt.profiles.target import Target
from layoutopt.runtime.progress import Progress
from layoutopt.runtime.transport import can_pass


@dataclass(frozen=True, slots=True)
class Price:
    """What one candidate or conversion costs, or why it was refused."""

    cost_ns: int | None
    reason: str = ""
    """Why it was refused; of what has a price, why its results were not checked, or differ."""
    uncertainty: float = 0.0
    """Relative standard error: of the estimate, or the spread of the fastest samples."""
    estimated: bool = False
    """Whether it was not measured; the cost then has the surcharge of `Estimate.robust_ns`."""
    compiles: bool = True
    """Whether it compiles alone, as far as is known."""
    by_size_ns: tuple[int, ...] = ()
    """The cost at each size that is planned for, where these are several."""

    def at_ns(self, place: int) -> int:
        """The cost at one of the sizes, by place."""
        return self.by_size_ns[place] if self.by_size_ns else self.cost_ns or 0

    @property
    def nominal_ns(self) -> float:
        """The cost without that surcharge."""
        surcharge = self.uncertainty / 2 if self.estimated else 0.0
        return (self.cost_ns or 0) / (1 + surcharge)


class Pricer(Protocol):
    """A source of prices for one target."""

    source: PriceSource

    def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
        """A price for each piece of work, in order."""

    def stored(self, work: Sequence[Work]) -> list[Price | None]:
        """The prices that are there already, in order; None for the others."""

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        """What a candidate computes on its own inputs; None where it does not run here."""


@dataclass(frozen=True)
class Work:
    """Something to price: its form, and how to benchmark it."""

    form: PhysicalForm
    benchmark: Benchmark
    group: int
    """Pieces of one group compete: cliffs among them are measured with few samples."""
    lowered: bool = False
    """A conversion with reshapes and transposes in place of packs."""
    weight: float = 1.0
    """Of the sizes that it is priced at, among all that are planned for."""
    elsewhere: tuple[Work, ...] = ()
    """The same at other sizes that are planned for."""

    @property
    def everywhere(self) -> tuple[Work, ...]:
        """It at all sizes."""
        return (self, *self.elsewhere)

    def at_sizes(self, places: Sequence[int]) -> Work:
        """It at some of the sizes, by place, in the order of these."""
        first, *others = (self.everywhere[place] for place in places)
        marked = replace(first.benchmark, as_it_came=self.benchmark.as_it_came)
        return replace(first, benchmark=marked, elsewhere=tuple(others))

    @property
    def unmeasurable(self) -> str:
        """Why it can't be called: an argument or result has a type that arrays do not have."""
        types = self.form.graph.types
        passed = (*self.form.inputs, *self.form.weights, *self.form.outputs)
        unknown = next((types[t].element for t in passed if not can_pass(types[t].element)), None)
        if unknown is None:
            return ""
        return f"expected an element type that IREE's runtime passes, but got {unknown}"


ROOFLINE = "roofline: "
"""What the reason of a price begins with that was to be that of a compiled kernel, and is not."""


class Analytic:
    """Estimates for a target that is not here: of compiled kernels where these are given.

    Without them, or where a kernel is not understood, from the target's rates. What was measured on
    such a target, on another machine, goes before every estimate: the store has it under the
    target's device.
    """

    def __init__(
        self,
        target: Target,
        kernels: Kernels | None = None,
        store: Store | None = None,
        place: Place | None = None,
    ) -> None:
        self.target = target
        self.kernels = kernels
        self.store = store
        self.source = PriceSource.ANALYTIC if kernels is None else PriceSource.COMPILED
        self.place = place or Place(target.place, target.device)

    def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
        """Robust prices: uncertain estimates are dearer. Only a measurement or compiler refuses."""
        prices = {i: price for i, price in enumerate(self.stored(work)) if price is not None}
        left = [i for i in range(len(work)) if i not in prices]
        if self.kernels is None:
            for i in left:
                prices[i] = _estimated(estimate_form(work[i].form, self.target))
            return [prices[i] for i in range(len(work))]
        facts = self.kernels.read([work[i].benchmark for i in left], progress)
        for i, fact in zip(left, facts, strict=True):
            prices[i] = self._of_kernels(work[i], fact)
        return [prices[i] for i in range(len(work))]

    def stored(self, work: Sequence[Work]) -> list[Price | None]:
        """What was measured on such a target elsewhere, and kernels that were compiled before."""

        def known(benchmarks: Sequence[Benchmark]) -> list[Measurement | None]:
            if self.store is None:
                return [None] * len(benchmarks)
            return known_measurements(self.store, self.place, benchmarks)

        found = _stored(work, known, _estimated(FREE))
        if self.kernels is None:
            return found
        facts = self.kernels.known([w.benchmark for w in work])
        return [
            price if price is not None or fact is None else self._of_kernels(piece, fact)
            for price, piece, fact in zip(found, work, facts, strict=True)
        ]

    def _of_kernels(self, work: Work, facts: Facts) -> Price:
        if facts.reason:
            return Price(None, facts.reason, compiles=False)
        if facts.not_understood:
            sure = estimate_form(work.form, self.target), estimate_steps(facts.steps, self.target)
            price = _estimated(max(sure, key=lambda estimate: estimate.ns))
            return replace(price, reason=f"{ROOFLINE}{facts.not_understood}")
        return _estimated(estimate_steps(facts.steps, self.target))

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        """The target is not here."""
        return None


def _estimated(estimate: Estimate) -> Price:
    return Price(round(estimate.robust_ns), uncertainty=estimate.uncertainty, estimated=True)


class Measures(Protocol):
    """What measures: a `Measurer` in this process, or a farm."""

    def measure(
        self,
        benchmarks: Sequence[Benchmark],
        progress: Progress | None = None,
        group: Sequence[int] | None = None,
    ) -> list[Measurement]:
        """A measurement per candidate, in order."""

    def known(self, benchmarks: Sequence[Benchmark]) -> list[Measurement | None]:
        """What was measured before, in order; None for the others."""

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        """What a candidate computes on its own inputs; None where it does not run here."""


class Measured:
    """Measurements on this machine, or on a farm of machines like the target."""

    source = PriceSource.MEASURED

    def __init__(
        self, measurer: Measures, is_right_elsewhere: Callable[[Benchmark], bool] | None = None
    ) -> None:
        """``is_right_elsewhere``: whether IREE computes what the oracle does on another device.

        It is asked of the model's own ops where this one computes something else, and two are then
        right against one: the op is refused as it came.
        """
        self.measurer = measurer
        self._is_right_elsewhere = cache(is_right_elsewhere) if is_right_elsewhere else None

    def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
        """Of the fastest samples; what does not compile, run or compute rightly is refused."""
        paid = [w for w in work if not w.form.is_free and not w.unmeasurable]
        measured = iter(
            self.measurer.measure([w.benchmark for w in paid], progress, [w.group for w in paid])
        )
        return [_known_at_once(w) or self._judged(w, _price(next(measured))) for w in work]

    def stored(self, work: Sequence[Work]) -> list[Price | None]:
        """What was measured before."""
        found = _stored(work, self.measurer.known, Price(0))
        return [p if p is None else self._judged(w, p) for w, p in zip(work, found, strict=True)]

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        """Of one call, where the device is here."""
        return self.measurer.outputs(benchmark)

    def _judged(self, work: Work, price: Price) -> Price:
        """The price of what this device computes right, as far as others tell."""
        own = work.benchmark.as_it_came and price.cost_ns is not None and price.reason
        if not own or self._is_right_elsewhere is None:
            return price
        if not self._is_right_elsewhere(work.benchmark):
            return price
        reason = f"right on this machine's CPU, but not on the device: {price.reason}"
        return Price(None, reason, compiles=False)


def _known_at_once(work: Work) -> Price | None:
    """The price of what is not measured."""
    if work.form.is_free:
        return Price(0)
    return Price(None, work.unmeasurable) if work.unmeasurable else None


def _stored(
    work: Sequence[Work],
    known: Callable[[Sequence[Benchmark]], list[Measurement | None]],
    free: Price,
) -> list[Price | None]:
    paid = [w.benchmark for w in work if not w.form.is_free]
    measured = iter(known(paid))
    found: list[Price | None] = []
    for piece in work:
        measurement = None if piece.form.is_free else next(measured)
        price = None if measurement is None else _price(measurement)
        found.append(free if piece.form.is_free else price)
    return found


def _price(measurement: Measurement) -> Price:
    if measurement.ok:
        cost_ns = max(LAUNCH_NS, measurement.fastest_ns)
        return Price(cost_ns, measurement.reason, measurement.fastest_spread)
    outcome = measurement.outcome
    return Price(None, f"{outcome.value}: {measurement.reason}", compiles=outcome.compiles)


KeyT = TypeVar("KeyT", bound=Hashable)


def candidate_work(
    graph: Graph,
    clusters: Sequence[Cluster],
    candidates: Sequence[Candidate],
    target: Target,
    first_group: int,
    references: References | None = None,
) -> tuple[list[tuple[Candidate, Work]], list[tuple[Candidate, str]]]:
    """The work of pricing each candidate, and those that have no form, with the reason.

    Alternatives make the same tensor: their group is its number, from ``first_group`` on.
    ``references``: what they have to compute.
    """
    found: list[tuple[Candidate, Work]] = []
    refused: list[tuple[Candidate, str]] = []
    hashes = StructuralHash(graph)
    known: dict[Hashable, Work | Refusal] = {}
    for candidate in candidates:
        cluster = clusters[candidate.cluster]
        key = hashes.key(cluster, candidate)
        if key not in known:
            known[key] = _work(graph, cluster, candidate, target, references)
        work = known[key]
        if isinstance(work, Refusal):
            refused.append((candidate, work.reason))
        else:
            found.append((candidate, replace(work, group=first_group + cluster.outputs[0])))
    return found, refused


def with_others(
    work: Sequence[tuple[KeyT, Work]],
    weight: float,
    others: Sequence[tuple[KeyT, Work]],
    share: float,
) -> list[tuple[KeyT, Work]]:
    """The same work, each piece with itself at other sizes.

    ``weight`` and ``share``: those of its own sizes and of the others. What has no form there is
    left out.
    """
    found = {(key, w.lowered): w for key, w in others}
    joined = []
    for key, piece in work:
        there = found.get((key, piece.lowered))
        if there is not None:
            elsewhere = (*piece.elsewhere, replace(there, weight=share))
            joined.append((key, replace(piece, weight=weight, elsewhere=elsewhere)))
    return joined


def own_marked(
    work: Sequence[tuple[Candidate, Work]], own: Sequence[Candidate]
) -> dict[Candidate, Work]:
    """The same work, where equal to that of the model's ``own`` ops marked as such."""
    wanted = set(own)
    came = {w.benchmark.text for candidate, w in work if candidate in wanted}
    return {c: _as_it_came(w) if w.benchmark.text in came else w for c, w in work}


def _as_it_came(work: Work) -> Work:
    return replace(work, benchmark=replace(work.benchmark, as_it_came=True))


def _work(
    graph: Graph,
    cluster: Cluster,
    candidate: Candidate,
    target: Target,
    references: References | None,
) -> Work | Refusal:
    form = physical_form(graph, cluster, candidate)
    if isinstance(form, Refusal):
        return form
    return Work(form, candidate_benchmark(graph, cluster, candidate, form, target, references), 0)


def conversion_work(
    graph: Graph,
    conversions: Sequence[Conversion],
    target: Target,
    first_group: int,
    lowered: bool | None = None,
) -> list[tuple[Conversion, Work]]:
    """The work of pricing each conversion that moves something, in each form that it may take.

    ``lowered``: whether packs are written as reshapes and transposes; None for both, packs first.
    """
    found: list[tuple[Conversion, Work]] = []
    for i, conversion in enumerate(conversions):
        if is_free(graph, conversion):
            continue
        packs = conversion_form(graph, conversion)
        plain = replace(packs, graph=lower_packs(packs.graph))
        forms = [(packs, False), (plain, True)]
        if plain.graph.ops == packs.graph.ops:
            forms = forms[:1]
        elif lowered is not None:
            forms = forms[lowered:][:1]
        for form, is_lowered in forms:
            benchmark = conversion_benchmark(graph, conversion, form, target)
            found.append((conversion, Work(form, benchmark, first_group + i, is_lowered)))
    return found
