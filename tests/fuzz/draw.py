"""Choices of the generator: drawn from a seed, or taken from a recording and made smaller."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """Small whole numbers, each remembered. 0 is always the simplest choice.

    A replay takes recorded numbers, cut to what is allowed now, and zeros behind them: so any
    list of numbers is a valid recording, and a failure shrinks by making numbers smaller.
    """

    def __init__(self, source: random.Random | Sequence[int]) -> None:
        """``source``: what to draw from, or a recording."""
        self._random = source if isinstance(source, random.Random) else None
        self._recorded = list(source)[::-1] if not isinstance(source, random.Random) else []
        self.choices: list[int] = []

    def below(self, count: int) -> int:
        """One of 0 .. count - 1."""
        if self._random is not None:
            chosen = self._random.randrange(count)
        else:
            chosen = min(self._recorded.pop(), count - 1) if self._recorded else 0
        self.choices.append(chosen)
        return chosen

    def pick(self, of: Sequence[T]) -> T:
        """One of them; the first one is the simplest."""
        return of[self.below(len(of))]

    def between(self, low: int, high: int) -> int:
        """One of low .. high."""
        return low + self.below(high - low + 1)

    def one_in(self, count: int) -> bool:
        """True once in ``count`` times; False is the simpler answer."""
        return self.below(count) == count - 1

    def order(self, of: Sequence[T]) -> tuple[T, ...]:
        """Them all in some order; as they come is the simplest."""
        left = list(of)
        return tuple(left.pop(self.below(len(left))) for _ in of)
