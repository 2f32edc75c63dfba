"""The progress of measuring, for display."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Callbacks of a measurement run; all come from the thread that called `measure`."""

    def total(self, candidates: int) -> None:
        """How many candidates there are, known ones included."""

    def advance(self, candidates: int = 1) -> None:
        """So many more are done."""

    def description(self, text: str) -> None:
        """What goes on now."""

    def remaining(self, seconds: float) -> None:
        """How long the rest will take, by the pace so far."""


class Silent:
    """Shows nothing."""

    def total(self, candidates: int) -> None:
        """Ignore it."""

    def advance(self, candidates: int = 1) -> None:
        """Ignore it."""

    def description(self, text: str) -> None:
        """Ignore it."""

    def remaining(self, seconds: float) -> None:
        """Ignore it."""


class Pace:
    """Estimates the time left from what compiling and timing took per candidate so far.

    The first guesses count as much as `GUESS_WEIGHT` candidates and fade as real ones come in.
    """

    GUESS_WEIGHT = 8

    def __init__(self, candidates: int, jobs: int) -> None:
        self._compile = _Rate(candidates, 0.15 / jobs * self.GUESS_WEIGHT, self.GUESS_WEIGHT)
        self._time = _Rate(candidates, 0.25 * self.GUESS_WEIGHT, self.GUESS_WEIGHT)

    def compiled(self, candidates: int, seconds: float) -> None:
        """So many candidates went through the compiler in `seconds` of wall time."""
        self._compile.take(candidates, seconds)

    def timed(self, candidates: int, seconds: float) -> None:
        """So many candidates were timed, or turned out to need no timing (0 s)."""
        self._time.take(candidates, seconds)

    @property
    def remaining_s(self) -> float:
        """Seconds until all is done."""
        return self._compile.remaining_s + self._time.remaining_s


class _Rate:
    def __init__(self, left: int, seconds: float, weight: float) -> None:
        self._left = left
        self._seconds = seconds
        self._done = weight

    def take(self, candidates: int, seconds: float) -> None:
        self._left = max(0, self._left - candidates)
        self._seconds += seconds
        self._done += candidates

    @property
    def remaining_s(self) -> float:
        return self._left * self._seconds / self._done
