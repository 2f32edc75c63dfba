"""Price what the plan may need, and no more.

    solve with a lower bound wherever a price is missing
    price what the answer uses, with its rivals; again, until it uses nothing without a price

As far as no price is below its bound, what was not priced would not have made a cheaper plan: the
last answer is the one that all prices together would give. (Lazy evaluation of edges, as in
Dellin and Srinivasa, "A unifying formalism for shortest path problems with expensive edge
evaluations via lazy best-first search", ICAPS 2016.)
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice, Conversion
from layoutopt.candidates.cluster import Cluster
from layoutopt.ir.graph import Graph
from layoutopt.options import Options
from layoutopt.planning.selection import Selection, build_selection
from layoutopt.pricing.analytic.form import all_work
from layoutopt.pricing.analytic.lower_bound import roofs_of
from layoutopt.pricing.analytic.work import DispatchWork
from layoutopt.pricing.prices import Price, Pricer, Work
from layoutopt.profiles.target import Target
from layoutopt.runtime.progress import Progress
from layoutopt.solver import Solution, TimeLimit
from layoutopt.solver.solution import StopReason, answer

ROUNDS = 40
"""Rounds at most; then the best plan among the prices there are, with its gap."""


_UNCOMPILED = ("compile-error", "compile-crash", "compile-timeout")
_UNKNOWN = "oracle: "
_LAST_RESORT_NS = 10**12
"""On top of the price of what IREE does not compile alone: chosen where there is nothing else."""
_UNKNOWN_ERROR = 1.0
"""Relative error of an estimate in place of a measurement that failed."""

Text = tuple[tuple[str, ...], str]


@dataclass(frozen=True)
class Question:
    """All that a plan could be made of."""

    graph: Graph
    clusters: tuple[Cluster, ...]
    candidates: dict[Candidate, Work]
    conversions: dict[Conversion, tuple[Work, ...]]
    """Those that move something, each in the forms that it may take."""
    unmoved: tuple[Conversion, ...]
    """Those that are free."""
    free: tuple[int, ...]
    """Inputs and outputs in any layout."""
    first: dict[Candidate, int]
    """The model as it came, whose price is wanted in any case, and estimates in nanoseconds: it can
    be chosen though it fails alone."""
    weight_budget_bytes: int | None = None

    @property
    def as_it_came(self) -> Choice:
        """The plan that changes nothing."""
        return Choice(tuple(self.first), ())


@dataclass
class Priced:
    """Prices in nanoseconds, why others were refused, and the answer where one is known already."""

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
    answer: tuple[Selection, Solution] | None = None
    rounds_ended: bool = False
    """Whether `ROUNDS` ran out before the cheapest plan was known."""


def price_all(question: Question, pricer: Pricer, progress: Progress) -> Priced:
    """A price for everything."""
    priced = Priced(conversion_costs=dict.fromkeys(question.unmoved, 0))
    for keys in (tuple(question.candidates), tuple(question.conversions)):
        _settle(question, priced, keys, _asked(question, pricer, progress, keys))
    return priced


def price_by_need(
    question: Question,
    pricer: Pricer,
    progress: Progress,
    target: Target,
    options: Options,
    limit: TimeLimit,
    known: Sequence[tuple[Work, Price]] = (),
) -> Priced:
    """Prices until the cheapest plan is known, or for `ROUNDS` rounds; some are ``known`` already.

    The rest is asked for by need. When the time for solving is over, the cheapest plan is taken of
    those that earlier rounds asked for, the model as it came among them.
    """
    bounds = _Bounds(question, target)
    priced = Priced(conversion_costs=dict.fromkeys(question.unmoved, 0))
    keys: tuple[Candidate | Conversion, ...] = (*question.candidates, *question.conversions)
    prices = _stored(question, pricer, keys)
    prices |= {_text(work): price for work, price in known}
    _settle(question, priced, keys, prices)
    bound_ns = 0
    tried = [question.as_it_came]
    for _ in range(ROUNDS):
        selection = _selection(question, *bounds.filled(priced))
        solution = selection.solved(limit, options.search, tried)
        wanted = _wanted(question, priced, selection, solution)
        if not wanted:
            priced.answer = selection, solution
            return priced
        bound_ns = solution.bound_ns
        if limit.is_over:
            break
        tried.append(selection.choice(solution.candidates, solution.conversions))
        prices |= _asked(question, pricer, progress, wanted)
        _settle(question, priced, keys, prices)
    priced.rounds_ended = not limit.is_over
    reason = StopReason.TIME_LIMIT if limit.is_over else StopReason.EXHAUSTED
    selection = _selection(question, priced.costs, priced.conversion_costs)
    solution = selection.solved(limit, options.search, tried)
    if solution.objective_ns is not None:
        solution = answer(solution.candidates, solution.conversions, solution.objective_ns,
                          bound_ns, solution.seconds, reason)  # fmt: skip
    priced.answer = selection, solution
    return priced


class _Bounds:
    """Lower bounds of prices, under roofs that follow what was measured."""

    def __init__(self, question: Question, target: Target) -> None:
        self._target = target
        self._candidates = {
            c: all_work(work.form, target) for c, work in question.candidates.items()
        }
        self._conversions = {
            c: all_work(forms[0].form, target) for c, forms in question.conversions.items()
        }

    def filled(self, priced: Priced) -> tuple[dict[Candidate, int], dict[Conversion, int]]:
        """Costs of all that was not refused, by its price or else its bound."""
        roofs = roofs_of(self._target.rates, self._measured(priced))
        candidates = {
            c: priced.costs.get(c, sum(map(roofs.least_ns, parts)))
            for c, parts in self._candidates.items()
            if c not in priced.refused
        }
        conversions = {
            c: priced.conversion_costs.get(c, sum(map(roofs.least_ns, parts)))
            for c, parts in self._conversions.items()
            if c not in priced.refused
        }
        return candidates, priced.conversion_costs | conversions

    def _measured(self, priced: Priced) -> Iterator[tuple[DispatchWork, int]]:
        for candidate, cost_ns in priced.costs.items():
            parts = self._candidates[candidate]
            if len(parts) == 1:
                yield parts[0], cost_ns
        for conversion, cost_ns in priced.conversion_costs.items():
            parts = self._conversions.get(conversion, ())
            if len(parts) == 1:
                yield parts[0], cost_ns


def _asked(
    question: Question,
    pricer: Pricer,
    progress: Progress,
    keys: Sequence[Candidate | Conversion],
) -> dict[Text, Price]:
    pieces = [piece for key in keys for piece in _pieces(question, key)]
    return dict(zip(map(_text, pieces), pricer.price(pieces, progress), strict=True))


def _stored(
    question: Question, pricer: Pricer, keys: Sequence[Candidate | Conversion]
) -> dict[Text, Price]:
    """The prices that are there already: no round has to find out first that it wants them."""
    pieces = [piece for key in keys for piece in _pieces(question, key)]
    found = zip(map(_text, pieces), pricer.stored(pieces), strict=True)
    return {text: price for text, price in found if price is not None}


def _settle(
    question: Question,
    priced: Priced,
    keys: Iterable[Candidate | Conversion],
    prices: Mapping[Text, Price],
) -> None:
    """Cost or refusal of each key whose pieces all have a price: the cheapest of them.

    Also of those that nobody asked for: what is equal to something with a price has the same.
    """
    for key in keys:
        if key in priced.costs or key in priced.conversion_costs or key in priced.refused:
            continue
        pieces = _pieces(question, key)
        found = [prices[text] for text in map(_text, pieces) if text in prices]
        if len(found) < len(pieces):
            continue
        costs = [price.cost_ns for price in found if price.cost_ns is not None]
        if not costs and isinstance(key, Candidate) and key in question.first:
            _stay(question, priced, key, found[-1].reason)
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


def _stay(question: Question, priced: Priced, key: Candidate, reason: str) -> None:
    """Keep the model's own ops, though they have no price: inside the model they may do."""
    fails = reason.startswith(_UNCOMPILED)
    cost_ns = question.first[key]
    priced.prices[key] = Price(cost_ns, reason, _UNKNOWN_ERROR, estimated=True)
    priced.costs[key] = cost_ns
    if fails:
        priced.last_resorts.add(key)
        priced.costs[key] += _LAST_RESORT_NS
    how = "the last resort" if fails else "by estimate"
    priced.notes[key] = f"kept as it came, priced {how}: {reason}"


def _note(reason: str) -> str:
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


def _text(work: Work) -> Text:
    """Equal for pieces that are measured as one."""
    return work.benchmark.flags, work.benchmark.text


def _pieces(question: Question, key: Candidate | Conversion) -> tuple[Work, ...]:
    if isinstance(key, Candidate):
        return (question.candidates[key],)
    return question.conversions[key]


def _selection(
    question: Question,
    costs: dict[Candidate, int],
    conversion_costs: dict[Conversion, int],
) -> Selection:
    return build_selection(
        question.graph,
        question.clusters,
        costs,
        conversion_costs,
        question.free,
        question.weight_budget_bytes,
    )


def _wanted(
    question: Question, priced: Priced, selection: Selection, solution: Solution
) -> tuple[Candidate | Conversion, ...]:
    """What the answer uses without a price, and what would stand in for it; the model as it came.

    For a candidate that is its whole cluster; for a conversion all from the same layout of the
    tensor or to the same one.
    """
    choice = selection.choice(solution.candidates, solution.conversions)
    clusters = {c.cluster for c in choice.candidates if c not in priced.costs}
    found: list[Candidate | Conversion] = [
        c
        for c in question.candidates
        if (c.cluster in clusters or c in question.first)
        and c not in priced.costs
        and c not in priced.refused
    ]
    open_ends = [c for c in choice.conversions if c not in priced.conversion_costs]
    sources = {(tensor, source) for tensor, source, _ in open_ends}
    goals = {(tensor, goal) for tensor, _, goal in open_ends}
    found += [
        c
        for c in question.conversions
        if ((c[0], c[1]) in sources or (c[0], c[2]) in goals)
        and c not in priced.conversion_costs
        and c not in priced.refused
    ]
    return tuple(found)
