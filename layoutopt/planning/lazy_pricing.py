"""Price what the plan may need, and no more.

    solve with a lower bound wherever a price is missing
    price what the answer uses, with the alternatives; again, until it uses nothing without a price

As far as no price is below its bound, what was not priced would not have made a cheaper plan: the
last answer is the one that all prices together would give. (Lazy evaluation of edges, as in
Dellin and Srinivasa, "A unifying formalism for shortest path problems with expensive edge
evaluations via lazy best-first search", ICAPS 2016.)
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice
from layoutopt.candidates.conversion import Conversion
from layoutopt.planning.joint_selection import JointChoice, JointSelection
from layoutopt.planning.joint_space import JointSpace
from layoutopt.planning.plan_space import PlanSpace
from layoutopt.planning.setting import PlanSetting
from layoutopt.pricing.analytic.form import all_work
from layoutopt.pricing.analytic.lower_bound import Roofs, roofs_of
from layoutopt.pricing.analytic.work import DispatchWork
from layoutopt.pricing.prices import ROOFLINE, Price, Pricer, Work
from layoutopt.pricing.source import PriceSource
from layoutopt.profiles.target import Target
from layoutopt.runtime.progress import Progress
from layoutopt.solver import Solution
from layoutopt.solver.solution import StopReason, answer

ROUNDS = 40
"""Rounds at most; then the best plan among the prices there are, with its gap."""


ROUND_S = 2.0
"""Seconds of solving in a round that only asks for prices; the last one has all that are left."""

_UNKNOWN = "oracle: "
_LAST_RESORT_NS = 10**12
"""On top of the price of what IREE does not compile alone: chosen where there is nothing else."""
_UNKNOWN_ERROR = 1.0
"""Relative error of an estimate in place of a measurement that failed."""

BySize = tuple[tuple[float, Sequence[DispatchWork]], ...]
"""The dispatches at each size that is planned for, with its weight."""
Text = tuple[Hashable, ...]
Keys = tuple[Candidate | Conversion, ...]


@dataclass
class Priced:
    """Prices in nanoseconds, why others were refused, and the answer where one is known already."""

    source: PriceSource
    costs: dict[Candidate, int] = field(default_factory=dict)
    conversion_costs: dict[Conversion, int] = field(default_factory=dict)
    transposed: set[Conversion] = field(default_factory=set)
    """Conversions that cost less as reshapes and a transpose than as packs."""
    refused: dict[Candidate | Conversion, str] = field(default_factory=dict)
    prices: dict[Candidate | Conversion, Price] = field(default_factory=dict)
    """Where the cost of each came from."""
    notes: dict[Candidate, str] = field(default_factory=dict)
    """What there is to say of prices: unchecked results, estimates in place of measurements."""
    last_resorts: set[Candidate] = field(default_factory=set)
    """Candidates that IREE does not compile alone; their costs bear a surcharge."""
    piece_prices: dict[Text, Price] = field(default_factory=dict)
    """Of every piece of work; of a conversion, each of its forms."""
    answer: tuple[JointSelection, Solution] | None = None
    """For all graphs that are planned together."""
    rounds_ended: bool = False
    """Whether `ROUNDS` ran out before the cheapest plan was known."""


def price_all(space: JointSpace, pricer: Pricer, progress: Progress) -> tuple[Priced, ...]:
    """A price for everything, in each of the graphs."""
    found = _unpriced(space, pricer)
    steps: list[list[Keys]] = [
        [tuple(part.candidates) for part in space.parts],
        [tuple(part.conversions) for part in space.parts],
    ]
    for keys in steps:
        prices = _asked(space, pricer, progress, keys)
        for part, priced, own in zip(space.parts, found, keys, strict=True):
            _record(part, priced, own, prices)
    return found


def price_lazily(
    space: JointSpace,
    setting: PlanSetting,
    progress: Progress,
    known: Sequence[tuple[Work, Price]] = (),
) -> tuple[Priced, ...]:
    """Prices until the cheapest plan is known, or for `ROUNDS` rounds; some are ``known`` already.

    The rest is priced where an answer uses it. When the time for solving is over, the cheapest plan
    is taken of those that earlier rounds found, the model as it came among them.
    """
    pricer, limit, search = setting.pricer, setting.limit, setting.options.search
    bounds = [_Bounds(part) for part in space.parts]
    found = _unpriced(space, pricer)
    keys: list[Keys] = [(*part.candidates, *part.conversions) for part in space.parts]
    prices = _stored(space, pricer)
    prices |= {text_of(work): price for work, price in known}

    def record() -> None:
        for part, priced, own in zip(space.parts, found, keys, strict=True):
            _record(part, priced, own, prices)

    record()
    bound_ns = 0
    tried: list[JointChoice] = []
    at_most_s = ROUND_S
    for _ in range(ROUNDS):
        costs = [own.filled(priced) for own, priced in zip(bounds, found, strict=True)]
        selection, solution = space.solved(costs, search, limit, tried, at_most_s)
        choice = selection.choice(solution)
        wanted = [
            _wanted(*each) for each in zip(space.parts, found, choice.parts, strict=True)
        ]  # fmt: skip
        if not any(wanted):
            cut_short = solution.stop_reason is StopReason.TIME_LIMIT
            if not cut_short or at_most_s == math.inf:
                return _answered(found, selection, solution)
            at_most_s = math.inf
            continue
        at_most_s = ROUND_S
        bound_ns = solution.bound_ns
        if limit.is_over:
            break
        tried.append(choice)
        prices |= _asked(space, pricer, progress, wanted)
        record()
    reason = StopReason.TIME_LIMIT if limit.is_over else StopReason.EXHAUSTED
    for priced in found:
        priced.rounds_ended = not limit.is_over
    costs = [(priced.costs, priced.conversion_costs) for priced in found]
    selection, solution = space.solved(costs, search, limit, tried)
    if solution.objective_ns is not None:
        solution = answer(solution.candidates, solution.conversions, solution.objective_ns,
                          bound_ns, solution.seconds, reason)  # fmt: skip
    return _answered(found, selection, solution)


def _unpriced(space: JointSpace, pricer: Pricer) -> tuple[Priced, ...]:
    return tuple(
        Priced(pricer.source, conversion_costs=dict.fromkeys(part.unmoved, 0))
        for part in space.parts
    )


def _answered(
    found: tuple[Priced, ...], selection: JointSelection, solution: Solution
) -> tuple[Priced, ...]:
    for priced in found:
        priced.answer = selection, solution
    return found


class _Bounds:
    """Lower bounds of prices, under roofs that follow what was measured."""

    def __init__(self, space: PlanSpace) -> None:
        self._target = target = space.target
        self._candidates = {c: _by_size(work, target) for c, work in space.candidates.items()}
        self._conversions = {
            c: _by_size(forms[0], target) for c, forms in space.conversions.items()
        }

    def filled(self, priced: Priced) -> tuple[dict[Candidate, int], dict[Conversion, int]]:
        """Costs of all that was not refused, by its price or else its bound."""
        roofs = roofs_of(self._target.rates, self._measured(priced))
        candidates = {
            c: priced.costs.get(c, _bound_ns(roofs, sizes))
            for c, sizes in self._candidates.items()
            if c not in priced.refused
        }
        conversions = {
            c: priced.conversion_costs.get(c, _bound_ns(roofs, sizes))
            for c, sizes in self._conversions.items()
            if c not in priced.refused
        }
        return candidates, priced.conversion_costs | conversions

    def _measured(self, priced: Priced) -> Iterator[tuple[DispatchWork, int]]:
        """Dispatches that have a price of their own, with it, at each size."""
        for candidate, cost_ns in priced.costs.items():
            times = priced.prices[candidate].by_size_ns or (cost_ns,)
            yield from _alone(self._candidates[candidate], times)
        for conversion, cost_ns in priced.conversion_costs.items():
            if conversion in self._conversions:
                times = priced.prices[conversion].by_size_ns or (cost_ns,)
                yield from _alone(self._conversions[conversion], times)


def _by_size(work: Work, target: Target) -> BySize:
    return tuple((piece.weight, all_work(piece.form, target)) for piece in work.everywhere)


def _bound_ns(roofs: Roofs, sizes: BySize) -> int:
    """The weighted mean of the bounds at each size."""
    bounds = ((weight, sum(map(roofs.lower_bound_ns, parts))) for weight, parts in sizes)
    if len(sizes) == 1:
        return next(ns for _, ns in bounds)
    return round(sum(weight * ns for weight, ns in bounds) / sum(weight for weight, _ in sizes))


def _alone(sizes: BySize, times: Sequence[int]) -> Iterator[tuple[DispatchWork, int]]:
    """The work of one dispatch at each size, with its time; a mean is none of one size."""
    if len(sizes) == len(times):
        for (_, parts), cost_ns in zip(sizes, times, strict=True):
            if len(parts) == 1:
                yield parts[0], cost_ns


def _asked(
    space: JointSpace,
    pricer: Pricer,
    progress: Progress,
    keys: Sequence[Keys],
) -> dict[Text, Price]:
    """Prices of what each graph asks for."""
    asked = [(part, key) for part, own in zip(space.parts, keys, strict=True) for key in own]
    pieces = [piece for part, key in asked for piece in part.work(key)]
    return dict(zip(map(text_of, pieces), pricer.price(pieces, progress), strict=True))


def _stored(space: JointSpace, pricer: Pricer) -> dict[Text, Price]:
    """The prices that are there already: no round has to find out first that it wants them."""
    keys: list[Keys] = [(*part.candidates, *part.conversions) for part in space.parts]
    wanted = ((part, key) for part, own in zip(space.parts, keys, strict=True) for key in own)
    pieces = [piece for part, key in wanted for piece in part.work(key)]
    found = zip(map(text_of, pieces), pricer.stored(pieces), strict=True)
    return {text: price for text, price in found if price is not None}


def _record(
    space: PlanSpace,
    priced: Priced,
    keys: Iterable[Candidate | Conversion],
    prices: Mapping[Text, Price],
) -> None:
    """Cost or refusal of each key whose pieces all have a price: the cheapest of them.

    Also of those that were not asked for: what is equal to something with a price has the same.
    """
    priced.piece_prices.update(prices)
    for key in keys:
        if key in priced.costs or key in priced.conversion_costs or key in priced.refused:
            continue
        pieces = space.work(key)
        found = [prices[text] for text in map(text_of, pieces) if text in prices]
        if len(found) < len(pieces):
            continue
        costs = [price.cost_ns for price in found if price.cost_ns is not None]
        if not costs and isinstance(key, Candidate) and key in space.identity_ns:
            _stay(space, priced, key, found[-1])
            continue
        if not costs:
            priced.refused[key] = found[-1].reason
            continue
        best, price = next(
            pair for pair in zip(pieces, found, strict=True) if pair[1].cost_ns == min(costs)
        )
        priced.prices[key] = price
        if isinstance(key, Candidate):
            priced.costs[key] = min(costs)
            if price.reason:
                priced.notes[key] = _note(price.reason)
        else:
            priced.conversion_costs[key] = min(costs)
            if best.lowered:
                priced.transposed.add(key)


def _stay(space: PlanSpace, priced: Priced, key: Candidate, refused: Price) -> None:
    """Keep the model's own ops, though they have no price: inside the model they may do."""
    fails, reason = not refused.compiles, refused.reason
    cost_ns = space.identity_ns[key]
    priced.prices[key] = Price(cost_ns, reason, _UNKNOWN_ERROR, estimated=True)
    priced.costs[key] = cost_ns
    if fails:
        priced.last_resorts.add(key)
        priced.costs[key] += _LAST_RESORT_NS
    how = "the last resort" if fails else "by estimate"
    priced.notes[key] = f"kept as it came, priced {how}: {reason}"


def _note(reason: str) -> str:
    if reason.startswith(ROOFLINE):
        return f"priced by a roofline, its kernel was not read: {reason.removeprefix(ROOFLINE)}"
    if not reason.startswith(_UNKNOWN):
        return f"the oracle and IREE differ on it as it came, and IREE is right: {reason}"
    return f"priced without its check: {reason}"


def without_surcharges(
    priced: Priced, used: Sequence[Candidate], solution: Solution
) -> tuple[dict[Candidate, int], Solution]:
    """Costs and answer less what keeps last resorts from being chosen; ``used``: by the answer."""
    last = priced.last_resorts
    costs = {c: ns - _LAST_RESORT_NS * (c in last) for c, ns in priced.costs.items()}
    surcharge_ns = _LAST_RESORT_NS * sum(c in last for c in used)
    if not surcharge_ns or solution.objective_ns is None:
        return costs, solution
    objective_ns = solution.objective_ns - surcharge_ns
    bound_ns = max(0, solution.bound_ns - surcharge_ns)
    gap = (objective_ns - bound_ns) / objective_ns if objective_ns else 0.0
    return costs, replace(solution, objective_ns=objective_ns, bound_ns=bound_ns, gap=gap)


def text_of(work: Work) -> Text:
    """What tells pieces apart: equal for those that are measured as one."""
    sizes = tuple(piece.benchmark.sizes for piece in work.everywhere)
    return work.benchmark.flags, work.benchmark.text, sizes


def _wanted(
    space: PlanSpace, priced: Priced, choice: Choice
) -> tuple[Candidate | Conversion, ...]:  # fmt: skip
    """What the answer uses without a price, and what would stand in for it; the model as it came.

    For a candidate that is its whole cluster; for a conversion all from the same layout of the
    tensor or to the same one.
    """
    clusters = {c.cluster for c in choice.candidates if c not in priced.costs}
    found: list[Candidate | Conversion] = [
        c
        for c in space.candidates
        if (c.cluster in clusters or c in space.identity_ns)
        and c not in priced.costs
        and c not in priced.refused
    ]
    open_ends = [c for c in choice.conversions if c not in priced.conversion_costs]
    sources = {(c.tensor, c.source) for c in open_ends}
    targets = {(c.tensor, c.target) for c in open_ends}
    found += [
        c
        for c in space.conversions
        if ((c.tensor, c.source) in sources or (c.tensor, c.target) in targets)
        and c not in priced.conversion_costs
        and c not in priced.refused
    ]
    return tuple(found)
