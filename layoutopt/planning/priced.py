"""Prices that were found for a graph so far, why others were refused, and the answer."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.conversion import Conversion
from layoutopt.options import Effort
from layoutopt.planning.joint_selection import JointSelection
from layoutopt.planning.plan_space import PlanSpace
from layoutopt.pricing.prices import ROOFLINE, Price, Work
from layoutopt.pricing.source import PriceSource
from layoutopt.solver import Solution

_UNKNOWN = "oracle: "
_LAST_RESORT_NS = 10**12
"""On top of the price of what IREE does not compile alone: chosen where there is nothing else."""
_UNKNOWN_ERROR = 1.0
"""Relative error of an estimate in place of a measurement that failed."""

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
    effort: Effort = Effort.THOROUGH
    """How much was to be priced."""
    rounds_ended: bool = False
    """Whether `ROUNDS` ran out before the cheapest plan was known."""


def record(
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
    priced.prices[key] = Price(cost_ns, reason, _UNKNOWN_ERROR, estimated=True, compiles=not fails)
    priced.costs[key] = cost_ns
    if fails:
        priced.last_resorts.add(key)
        priced.costs[key] += _LAST_RESORT_NS
    how = "the last resort" if fails else "by estimate"
    priced.notes[key] = f"kept as it came, priced {how}: {reason}"


def _note(reason: str) -> str:
    if reason.startswith(ROOFLINE):
        return f"estimated, its kernel was not understood: {reason.removeprefix(ROOFLINE)}"
    if not reason.startswith(_UNKNOWN):
        return f"the oracle and IREE differ on it as it came, and IREE's results count: {reason}"
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
