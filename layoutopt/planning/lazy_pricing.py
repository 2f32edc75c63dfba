"""Price what the plan may need, and no more.

    solve with a lower bound wherever a price is missing
    price what the answer uses, with the alternatives; again, until it uses nothing without a price

As far as no price is below its bound, what was not priced would not have made a cheaper plan: the
last answer is the one that all prices together would give. (Lazy evaluation of edges, as in
Dellin and Srinivasa, "A unifying formalism for shortest path problems with expensive edge
evaluations via lazy best-first search", ICAPS 2016.) What `Bounds` learns from the prices of some
candidates keeps the others like them from being priced; of each kind of loops a few come first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from operator import methodcaller

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice
from layoutopt.options import Effort
from layoutopt.planning.as_it_came import price_as_it_came
from layoutopt.planning.bounds import Bounds, Key
from layoutopt.planning.joint_selection import JointChoice, JointSelection
from layoutopt.planning.joint_space import Costs, JointSpace
from layoutopt.planning.plan_space import PlanSpace
from layoutopt.planning.priced import Keys, Priced, Text, record, text_of
from layoutopt.planning.setting import PlanSetting
from layoutopt.planning.spared import sparing, take_less
from layoutopt.pricing.prices import Price, Pricer
from layoutopt.runtime.progress import Progress
from layoutopt.solver import CHEAPEST, Enough, Solution
from layoutopt.solver.solution import StopReason, answer

ROUNDS = 100
"""Rounds at most; then the best plan among the prices there are, with its gap."""


AT_ONCE = 24
"""Pieces of a round that are asked for at least, where as many may pay: compiling a few takes as
long as one."""
SHARE_AT_ONCE = 8
"""Of kernels that are only compiled, the share of all unknown ones that a round asks for at least:
in 16 rounds, solving took twice as long as they did (GPT-2, 2 layers, mi355x)."""


NEAR = {Effort.QUICK: 0.03, Effort.NORMAL: 0.02}
"""Over what is expected of the cheapest plan, one with known prices may cost: what is left to gain
of a stage took ShuffleNet a quarter of its pricing. The next stage may expect more."""
MOST_UNKNOWN = 0.5
"""Share of what a plan is expected to take, without a price, up to which one with known prices may
be as near."""

VAGUE = 0.05
"""Relative gap of an answer that tells too little of what is to be priced: the next round takes
twice the time, and half of it where an answer tells enough. Plans that greedy search found asked
for the wrong prices in each round of SegFormer."""

GAP = 0.02
"""Of an answer, relative to it, that tells well enough what is to be priced. Of nine rounds of
ShuffleNet it was there within 1.9 s in eight, where half a percent took more than 4 in eight."""
LAST_GAP = 5e-3
"""The same once the cheapest plan has asked for prices that such answers did not ask for."""


def asking(candidates: int) -> Enough:
    """What a round that only asks for prices waits for; the last one waits for the cheapest plan.

    Most answers are there in a tenth of the time that the proof takes.
    """
    return Enough(seconds=0.5 + candidates / 2500, gap=GAP, share=0.12)


@dataclass(frozen=True, slots=True)
class _Asks:
    """What rounds that ask for prices wait for: at least, and now."""

    least: Enough
    longer: float = 1.0
    """Times the least seconds."""

    @property
    def now(self) -> Enough:
        return replace(self.least, seconds=self.longer * self.least.seconds)

    def behind(self, enough: Enough, solution: Solution) -> _Asks:
        """The same behind a round that waited for ``enough``.

        Longer where that told too little, and where the cheapest plan takes less than half of the
        time that is left.
        """
        cut_short = solution.stop_reason is StopReason.TIME_LIMIT
        if enough is CHEAPEST:
            seconds = max(self.least.seconds, 2 * solution.seconds)
            return self if cut_short else _Asks(Enough(seconds, LAST_GAP, share=0.5))
        vague = cut_short and (solution.gap is None or solution.gap > VAGUE)
        return replace(self, longer=2 * self.longer if vague else max(1.0, self.longer / 2))


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
            record(part, priced, own, prices)
    return found


def price_lazily(space: JointSpace, setting: PlanSetting, progress: Progress) -> tuple[Priced, ...]:
    """Prices until the cheapest plan is known, or for `ROUNDS` rounds.

    The model as it came is priced first, but for what is known to be slow; the rest where an answer
    uses it. When the time for solving is over, the cheapest plan is taken of those that earlier
    rounds found, the model as it came among them. Where the plan reads less than a candidate makes,
    what makes only that is priced at last.
    """
    search, limit = setting.options.search, setting.limit
    found = _in_rounds(space, setting, progress)
    unfinished = limit.is_over or found[0].rounds_ended  # the answer says how far it may be off
    while (ended := found[0].answer) is not None and not unfinished:
        selection, solution = ended
        choice = selection.choice(solution)
        spare = [sparing(*p) for p in zip(space.parts, found, choice.parts, strict=True)]
        if not any(spare):
            break
        prices = _asked(space, setting.pricer, progress, [tuple(own) for own in spare])
        for part, priced, own in zip(space.parts, found, spare, strict=True):
            record(part, priced, own, prices)
            take_less(priced, own)
        _answered(found, *space.solved(_costs(found), search, limit, [choice]))
        unfinished = limit.is_over
    return found


def _in_rounds(space: JointSpace, setting: PlanSetting, progress: Progress) -> tuple[Priced, ...]:
    """Prices and the answer that rounds end with."""
    pricer, limit, search = setting.pricer, setting.limit, setting.options.search
    bounds = [Bounds(part, setting.options.effort, pricer.source) for part in space.parts]
    found = _unpriced(space, pricer, setting.options.effort)
    keys: list[Keys] = [(*part.candidates, *part.conversions) for part in space.parts]
    prices = _stored(space, pricer)

    def take_in() -> None:
        for part, priced, own in zip(space.parts, found, keys, strict=True):
            record(part, priced, own, prices)

    take_in()
    slow = [_slow(*own) for own in zip(space.parts, bounds, found, strict=True)]
    for part, left_out in zip(space.parts, slow, strict=True):
        came = price_as_it_came(part, pricer, progress, left_out)
        prices |= {text_of(work): price for work, price in came}
    take_in()
    bound_ns = 0
    tried: list[JointChoice] = []
    asks = _Asks(asking(sum(len(part.candidates) for part in space.parts)))
    enough = asks.now
    for number in range(ROUNDS):
        costs = [own.filled(priced) for own, priced in zip(bounds, found, strict=True)]
        selection, solution = space.solved(costs, search, limit, tried, enough)
        choice = selection.choice(solution)
        wanted = [
            own.known_enough(_wanted(part, priced, own, chosen, left_out))
            for part, priced, own, chosen, left_out in zip(
                space.parts, found, bounds, choice.parts, slow, strict=True
            )
        ]
        if any(wanted) and number == 0 and _each(Bounds.narrow, bounds):
            continue
        if not any(wanted):
            if _each(methodcaller("widen", solution.objective_ns or math.inf), bounds):
                continue
            cut_short = solution.stop_reason in (StopReason.TIME_LIMIT, StopReason.CLOSE)
            if not cut_short or enough is CHEAPEST:
                return _answered(found, selection, solution)
            enough = CHEAPEST
            continue
        asks = asks.behind(enough, solution)
        enough = asks.now
        bound_ns = solution.bound_ns
        if limit.is_over:
            break
        near = NEAR.get(setting.options.effort)
        if number and near is not None and _is_known(space, found, costs, choice, solution):
            known = space.solved(_costs(found), search, limit, tried, asks.now)
            if _is_near(known[1], solution, near):
                if _each(methodcaller("widen", known[1].objective_ns or math.inf), bounds):
                    continue
                tried.append(known[0].choice(known[1]))
                return _answered(found, *space.solved(_costs(found), search, limit, tried))
        tried.append(choice)
        prices |= _asked(space, pricer, progress, wanted)
        take_in()
    reason = StopReason.TIME_LIMIT if limit.is_over else StopReason.EXHAUSTED
    for priced in found:
        priced.rounds_ended = not limit.is_over
    selection, solution = space.solved(_costs(found), search, limit, tried)
    if solution.objective_ns is not None:
        solution = answer(solution.candidates, solution.conversions, solution.objective_ns,
                          bound_ns, solution.seconds, reason)  # fmt: skip
    return _answered(found, selection, solution)


def _costs(found: Sequence[Priced]) -> list[Costs]:
    """Of what has a price."""
    return [(priced.costs, priced.conversion_costs) for priced in found]


def _is_known(
    space: JointSpace,
    found: Sequence[Priced],
    costs: Sequence[Costs],
    choice: JointChoice,
    solution: Solution,
) -> bool:
    """Whether prices tell most of what a plan is expected to take."""
    unknown_ns = sum(
        runs
        * (
            sum(own[0][c] for c in chosen.candidates if c not in priced.costs)
            + sum(own[1].get(c, 0) for c in chosen.conversions if c not in priced.conversion_costs)
        )
        for runs, priced, own, chosen in zip(space.runs, found, costs, choice.parts, strict=True)
    )
    return unknown_ns <= MOST_UNKNOWN * (solution.objective_ns or 0)


def _is_near(priced: Solution, solution: Solution, near: float) -> bool:
    """Whether a plan of known prices is as good as one that expects some, about."""
    if priced.objective_ns is None or solution.objective_ns is None:
        return False
    return priced.objective_ns <= (1 + near) * solution.objective_ns


def _each(change: Callable[[Bounds], bool], bounds: Sequence[Bounds]) -> bool:
    """Change all of them; whether some did."""
    return any(list(map(change, bounds)))


def _unpriced(
    space: JointSpace, pricer: Pricer, effort: Effort = Effort.THOROUGH
) -> tuple[Priced, ...]:
    return tuple(
        Priced(pricer.source, conversion_costs=dict.fromkeys(part.unmoved, 0), effort=effort)
        for part in space.parts
    )


def _answered(
    found: tuple[Priced, ...], selection: JointSelection, solution: Solution
) -> tuple[Priced, ...]:
    for priced in found:
        priced.answer = selection, solution
    return found


def _asked(
    space: JointSpace,
    pricer: Pricer,
    progress: Progress,
    keys: Sequence[Keys],
) -> dict[Text, Price]:
    """Prices of what each graph asks for."""
    asked = [(part, key) for part, own in zip(space.parts, keys, strict=True) for key in own]
    pieces = {text_of(piece): piece for part, key in asked for piece in part.work(key)}
    return dict(zip(pieces, pricer.price([*pieces.values()], progress), strict=True))


def _stored(space: JointSpace, pricer: Pricer) -> dict[Text, Price]:
    """The prices that are there already: no round has to find out first that it wants them."""
    keys: list[Keys] = [(*part.candidates, *part.conversions) for part in space.parts]
    wanted = ((part, key) for part, own in zip(space.parts, keys, strict=True) for key in own)
    pieces = [piece for part, key in wanted for piece in part.work(key)]
    found = zip(map(text_of, pieces), pricer.stored(pieces), strict=True)
    return {text: price for text, price in found if price is not None}


def _slow(space: PlanSpace, bounds: Bounds, priced: Priced) -> frozenset[Candidate]:
    """What is known to be slow of the model as it came, before any of it has a price."""
    bounds.learn(priced)
    return bounds.unlikely(c for c in space.identity_ns if c not in priced.costs)


def _wanted(
    space: PlanSpace,
    priced: Priced,
    bounds: Bounds,
    choice: Choice,
    left_out: Collection[Candidate],
) -> Keys:
    """What the answer uses without a price, and what may stand in for it; the model as it came.

    ``left_out``: of that; it is priced where an answer uses it.

    What may stand in for a candidate is of the same cluster; for a conversion, of the same tensor,
    from the same layout or to the same one. Where prices tell of others, it is no more than pays in
    one round, those first that may cost least.
    """
    used: Keys = (
        *(c for c in choice.candidates if c not in priced.costs),
        *(
            c
            for c in choice.conversions
            if c not in priced.conversion_costs and c in space.conversions
        ),
    )
    by_place: dict[Hashable, Key] = {}
    for key in used:
        by_place.update(dict.fromkeys(_places(key), key))
    keys: Keys = (*space.candidates, *space.conversions)
    unknown = [
        key
        for key in keys
        if key not in priced.costs
        and key not in priced.conversion_costs
        and key not in priced.refused
    ]
    came = [key for key in unknown if key in space.identity_ns and key not in left_out]
    at_least = {
        key: min(bounds.shortfall(key, by_place[place]) for place in found)
        for key in unknown
        if (found := [place for place in _places(key) if place in by_place])
    }
    others = sorted(at_least, key=at_least.__getitem__)
    if bounds.learns:
        most = AT_ONCE
        if priced.source.is_estimate:
            most = max(most, len(bounds.pieces(unknown)) // SHARE_AT_ONCE)
        likely = [key for key in others if at_least[key] <= 1]
        others = bounds.first(likely, (*used, *came), most)
    return tuple(dict.fromkeys((*used, *came, *others)))


def _places(key: Key) -> tuple[Hashable, ...]:
    """What only one of the keys of a plan can serve, roughly."""
    if isinstance(key, Candidate):
        return (key.cluster,)
    return (key.tensor, "from", key.source), (key.tensor, "to", key.target)
