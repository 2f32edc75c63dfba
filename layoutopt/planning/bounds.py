"""What a candidate without a price costs at least: roofs say so, and candidates like it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.conversion import Conversion
from layoutopt.options import Effort
from layoutopt.planning.doubts import doubted
from layoutopt.planning.plan_space import PlanSpace
from layoutopt.planning.priced import Keys, Priced, Text, text_of
from layoutopt.pricing.analytic.lower_bound import Roofs, roofs_of
from layoutopt.pricing.analytic.regression import Before, Floats
from layoutopt.pricing.analytic.work import DispatchWork
from layoutopt.pricing.learned import (
    LOOPS,
    BySize,
    Described,
    by_size,
    described,
    expected,
    known_before,
    names_of,
)
from layoutopt.pricing.prices import Work
from layoutopt.pricing.source import PriceSource
from layoutopt.profiles.experience import Experience, experiences_of

Key = Candidate | Conversion


@dataclass(frozen=True, slots=True)
class _Margin:
    """How far below what is expected a price may lie, in standard deviations."""

    known: float
    """Where something with the same loops has a price."""
    unknown: float
    """Where nothing has."""
    heavy: float | None = None
    """As ``known``, of tiles for what takes a large share of the plan; None for no other."""


_LIKELY = _Margin(0.0, 1.0)
_POSSIBLE = _Margin(0.25, math.inf)
_STAGES = {
    Effort.QUICK: (_LIKELY,),
    Effort.NORMAL: (_LIKELY, _POSSIBLE, replace(_POSSIBLE, heavy=2.0)),
    Effort.THOROUGH: (),
}
"""One after the other, each until the answer needs no more prices: what the likely ones tell makes
the deviations of the others small, and what is left is looked at where most could be gained."""
_COMPILED = replace(_POSSIBLE, known=2.0)
"""Of prices that are read from compiled kernels. One takes a sixth of a second, and kernels have
steeper cliffs than processors: of those that half a deviation left out, an eighth were two
deviations faster (BERT with 24 layers on mi355x, whose plan then was 5 % slower)."""
_HEAVY = 1 / 8
"""Share of the plan that is a large one: of all that is written in one way, together."""
_SEVERAL_TIMES = 3
"""As slow as another is what an experience may keep from being priced."""
_FEW = 1
"""Prices of one kind of loops that are asked for at once, while as few of that kind are known.

With two, and half a deviation in place of a quarter, a sixth to three tenths more was measured, for
plans that were 0.1 to 0.7 % faster (SqueezeNet, MobileNetV3, ConvNeXt, Llama)."""
_FEW_COMPILED = 2
"""The same of kernels that are only compiled."""


class Bounds:
    """Lower bounds of the prices of one graph; they follow what was priced."""

    def __init__(self, space: PlanSpace, effort: Effort, source: PriceSource) -> None:
        self._space, self._target = space, space.target
        self._stages = _STAGES[effort]
        if source.is_estimate:
            self._stages = tuple(_COMPILED if s is _POSSIBLE else s for s in self._stages)
        self._few = _FEW_COMPILED if source.is_estimate else _FEW
        self._stage = len(self._stages) - 1
        self._candidates = {c: by_size(work, space.target) for c, work in space.candidates.items()}
        self._conversions = {
            c: by_size(forms[0], space.target) for c, forms in space.conversions.items()
        }
        self._numbers: dict[Text, int] = {}
        self._described: list[Described] = []
        self._pieces: dict[Key, tuple[int, ...]] = {}
        self._told: dict[int, float] = {}
        self._is_stale = True
        self._total_ns = math.inf
        self._usual: dict[Key, int] = {}
        self._least: dict[Key, int] = {}
        self._seen: frozenset[Hashable] = frozenset()
        self._has_before = bool(self._stages) and source is PriceSource.MEASURED
        self._trusts_before = self._has_before and effort is Effort.QUICK
        if self._stages:
            self._describe()

    @property
    def learns(self) -> bool:
        """Whether prices tell of candidates that have none."""
        return bool(self._stages)

    def narrow(self) -> bool:
        """Begin with the likeliest, where much is without a price; False where there is no more."""
        return self._change(0)

    def widen(self, total_ns: float) -> bool:
        """Leave more room below what is expected; False where there is as much as may be.

        ``total_ns``: what the plan takes by now.
        """
        looked_at = self._total_ns < math.inf
        self._total_ns = total_ns
        if self._change(self._stage + 1):
            return True
        if looked_at or not self._stages or self._stages[-1].heavy is None:
            return False
        self._is_stale = True
        return True

    def _change(self, stage: int) -> bool:
        if stage == self._stage or stage >= len(self._stages):
            return False
        self._stage = stage
        self._is_stale = True
        return True

    def _describe(self) -> None:
        roofs = roofs_of(self._target.rates)
        for candidate, work in self._space.candidates.items():
            sizes = self._candidates[candidate]
            made_by = self._space.made_by(candidate, work)
            self._pieces[candidate] = (self._number(work, sizes, roofs, made_by),)
        for conversion, forms in self._space.conversions.items():
            self._pieces[conversion] = tuple(
                self._number(w, by_size(w, self._target), roofs, self._space.made_by(conversion, w))
                for w in forms
            )

    @cached_property
    def _experiences(self) -> tuple[Experience, ...]:
        """Prices of other models on processors like this one, where they may tell of these."""
        if not (self._has_before and self._described):
            return ()
        return tuple(each for each in experiences_of(self._target) if each.rows)

    @cached_property
    def _names(self) -> list[tuple[str, ...]]:
        """Of each piece of work, as experiences name it."""
        return [names_of(each) for each in self._described]

    @cached_property
    def _before(self) -> tuple[Before, ...]:
        """What each experience tells."""
        return tuple(known_before(self._described, self._names, e) for e in self._experiences)

    @cached_property
    def _loops_before(self) -> frozenset[Hashable]:
        """Kinds of loops that experiences have prices of."""
        names = frozenset[str]().union(*(each.names(LOOPS) for each in self._experiences))
        return frozenset(
            each.loops for each, name in zip(self._described, self._names, strict=True)
            if name[LOOPS] in names
        )  # fmt: skip

    def _number(self, work: Work, sizes: BySize, roofs: Roofs, made_by: Hashable) -> int:
        text = text_of(work)
        if text not in self._numbers:
            self._numbers[text] = len(self._described)
            self._described.append(described(work, sizes, roofs, made_by, self._target.registers))
        return self._numbers[text]

    def learn(self, priced: Priced) -> None:
        """Take in the prices that there are by now."""
        found = {
            self._numbers[text]: float(max(1, price.cost_ns))
            for text, price in priced.piece_prices.items()
            if text in self._numbers and price.cost_ns is not None
        }
        if (found == self._told and not self._is_stale) or not self.learns:
            return
        self._told, self._is_stale = found, False
        told = expected(self._described, found, self._before if self._trusts_before else ())
        if told is None:
            return
        margin = self._stages[self._stage]
        self._seen = self._loops_before if told.trusted else frozenset()
        loops = self._seen.union(self._described[i].loops for i in found)
        known = np.array([each.loops in loops for each in self._described])
        surprise = 0.0 if margin.unknown == math.inf else told.at(margin.unknown)
        usual = told.at(0.0)
        self._usual = self._of_keys(usual)
        least = told.at(margin.known)
        if margin.heavy is not None:
            least = np.where(self._doubted(usual), told.at(margin.heavy), least)
        self._least = self._of_keys(np.where(known, least, surprise))

    def _doubted(self, usual: Floats) -> npt.NDArray[np.bool_]:
        """Tiles for what takes a large share; ``usual``: what each piece is expected to take."""
        places: list[set[Hashable]] = [set() for _ in self._described]
        for key, own in self._pieces.items():
            for i in own:
                places[i].add(self._place(key))
        least_ns = _HEAVY * self._total_ns
        return doubted(self._described, places, self._told, usual.tolist(), least_ns)

    def _place(self, key: Key) -> Hashable:
        """What only one of the keys of a plan can make, roughly."""
        if isinstance(key, Candidate):
            return self._space.clusters[key.cluster].outputs
        return key

    def _of_keys(self, times: Floats) -> dict[Key, int]:
        """The cheapest of the forms that each key may take."""
        listed = times.tolist()
        return {key: round(min(listed[i] for i in own)) for key, own in self._pieces.items()}

    def filled(self, priced: Priced) -> tuple[dict[Candidate, int], dict[Conversion, int]]:
        """Costs of all that was not refused, by its price or else its bound."""
        self.learn(priced)
        roofs = roofs_of(self._target.rates, self._measured(priced))
        candidates = {
            c: priced.costs.get(c, max(_bound_ns(roofs, sizes), self._least.get(c, 0)))
            for c, sizes in self._candidates.items()
            if c not in priced.refused
        }
        conversions = {
            c: priced.conversion_costs.get(c, max(_bound_ns(roofs, sizes), self._least.get(c, 0)))
            for c, sizes in self._conversions.items()
            if c not in priced.refused
        }
        return candidates, priced.conversion_costs | conversions

    def unlikely(self, candidates: Iterable[Candidate]) -> frozenset[Candidate]:
        """Those that an experience tells are several times as slow as another that makes the same.

        None without an experience.
        """
        candidates = list(candidates)
        before = self._before if candidates else ()
        told = expected(self._described, self._told, before) if before else None
        if told is None:
            return frozenset()
        usual = self._of_keys(told.at(0.0))
        fastest: dict[Hashable, int] = {}
        for key in self._candidates:
            place, usual_ns = self._place(key), usual.get(key, 0)
            fastest[place] = min(fastest.get(place, usual_ns), usual_ns)
        return frozenset(
            c
            for c in candidates
            if usual.get(c, 0) > _SEVERAL_TIMES * fastest.get(self._place(c), math.inf)
        )

    def shortfall(self, key: Key, used: Key) -> float:
        """The least that ``key`` may cost over what is expected of ``used``; 0 where unknown."""
        return self._least.get(key, 0) / max(1, self._usual.get(used, 1))

    def pieces(self, keys: Iterable[Key]) -> set[int]:
        """The different pieces of work that they are, by number."""
        return {i for key in keys for i in self._pieces.get(key, ())}

    def first(self, keys: Iterable[Key], beside: Iterable[Key], most: int) -> list[Key]:
        """The first of the keys that are other work than those ``beside``, each once.

        With these they are ``most`` pieces of work, about.
        """
        found: dict[Key, None] = {}
        numbers = self.pieces(beside)
        for key in keys:
            if len(numbers) >= most:
                break
            own = self._pieces.get(key, ())
            if not numbers.issuperset(own):
                numbers.update(own)
                found[key] = None
        return list(found)

    def known_enough(self, keys: Keys) -> Keys:
        """The keys, in order, less those that wait until a few of the same loops have prices."""
        known = Counter(self._described[i].loops for i in self._told)
        asked: dict[Hashable, set[int]] = {}
        found: list[Key] = []
        for key in keys:
            numbers = self._pieces.get(key, ())
            waits = any(
                known[loops] < self._few
                and loops not in self._seen
                and len(asked.get(loops, set()).difference(numbers)) >= self._few
                for loops in (self._described[i].loops for i in numbers)
            )
            if waits:
                continue
            for i in numbers:
                asked.setdefault(self._described[i].loops, set()).add(i)
            found.append(key)
        return tuple(found)

    def _measured(self, priced: Priced) -> Iterator[tuple[DispatchWork, int]]:
        """Dispatches that have a price of their own, with it, at each size."""
        for candidate, cost_ns in priced.costs.items():
            times = priced.prices[candidate].by_size_ns or (cost_ns,)
            yield from _alone(self._candidates[candidate], times)
        for conversion, cost_ns in priced.conversion_costs.items():
            if conversion in self._conversions:
                times = priced.prices[conversion].by_size_ns or (cost_ns,)
                yield from _alone(self._conversions[conversion], times)


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
