"""Run Python on numbers that are not known: once for each way through its comparisons.

A ``Number`` is a Z3 integer that stands where the code expects an int. Where the code asks
whether something holds of it, both answers are followed if both are possible, each under its own
assumptions. What is proved on every way is proved for all values of all symbols.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import z3

_MOST_VALUES = 64
"""Values that a number may take where the code needs a plain int."""
_TIMEOUT_MS = 20_000


class DisprovedError(Exception):
    """A claim that is wrong for some values; they stand in the text."""


class UndecidedError(Exception):
    """A claim that Z3 can neither prove nor disprove in time."""


@dataclass
class _Choice:
    value: bool
    other: bool
    """Whether the other answer is still to be followed."""
    plain: bool = False
    """Whether nothing new is assumed by it."""


class Paths:
    """One exploration; ``every`` runs a case on all its ways."""

    def __init__(self) -> None:
        self._trail: list[_Choice] = []
        """Answers so far: a run that follows another one to its last choice asks nothing anew."""
        self._guesses: dict[int, int] = {}
        self._start()

    def _start(self) -> None:
        self._solver = z3.SolverFor("QF_LIA")
        self._solver.set("timeout", _TIMEOUT_MS)
        self._model: Any = None
        """Values for which the last question has the answer yes."""
        self._at = 0
        self._names = 0
        self.digits: dict[tuple[str, ...], tuple[int, ...]] = {}
        """Digits of linear indices over sizes that are not known, see ``arrays``."""
        self.linears: dict[tuple[str, ...], int] = {}
        """Those indices, by their digits and the sizes."""
        self.texts: dict[str, int] = {}
        """Numbers by the text that they were printed as."""

    def every(self, case: Callable[[Paths], None]) -> int:
        """Run the case on each way; says how many there were."""
        count = 0
        while True:
            self._start()
            case(self)
            count += 1
            while self._trail and not self._trail[-1].other:
                self._trail.pop()
            if not self._trail:
                return count
            last = self._trail[-1]
            last.value, last.other = not last.value, False

    def symbol(self, name: str, least: object = 0, below: object = None) -> int:
        """A number that is not known, at least ``least`` and less than ``below``."""
        self._names += 1
        made = z3.Int(f"{name}!{self._names}")
        self._solver.add(made >= term(least))
        if below is not None:
            self._solver.add(made < term(below))
        return cast(int, Number(self, made))

    def assume(self, claim: object) -> None:
        """Go on where the claim holds only."""
        self._solver.add(claim)

    def holds(self, claim: object) -> bool:
        """Whether a claim is true here; where it may be either, both ways are followed."""
        if self._at == len(self._trail):
            self._trail.append(self._choice(z3.simplify(claim)))
        found = self._trail[self._at]
        self._at += 1
        if not found.plain:
            self._solver.add(claim if found.value else z3.Not(claim))
        return found.value

    def _choice(self, claim: object) -> _Choice:
        if z3.is_true(claim) or z3.is_false(claim):
            return _Choice(bool(z3.is_true(claim)), other=False, plain=True)
        possible = [self._possible(claim), self._possible(z3.Not(claim))]
        assert any(possible), "assumptions that contradict each other"
        return _Choice(possible[0], all(possible))

    def either(self) -> bool:
        """Both ways are followed, with nothing assumed of either."""
        self._names += 1
        return self.holds(z3.Bool(f"way!{self._names}"))

    def certain(self, claim: object) -> bool:
        """Whether the claim holds for all values; does not fork."""
        if self._at == len(self._trail):
            known = z3.is_true(z3.simplify(claim)) or not self._possible(z3.Not(claim))
            self._trail.append(_Choice(known, other=False, plain=True))
        self._at += 1
        return self._trail[self._at - 1].value

    def prove(self, claim: object, what: str) -> None:
        """Raises DisprovedError where the claim may be false."""
        if not self.certain(claim):
            raise DisprovedError(f"{what}: {z3.simplify(claim)} is false for {self._model}")

    def value_of(self, number: Number) -> int:
        """A plain int: the number's values are followed one by one."""
        for _ in range(_MOST_VALUES):
            if self._at == len(self._trail):
                assert self._possible(z3.BoolVal(True))
                guess = self._model.eval(number.term, model_completion=True).as_long()
                self._guesses[self._at] = guess
            guess = self._guesses[self._at]
            if self.holds(number.term == guess):
                return guess
        raise UndecidedError(f"{number.term} takes more than {_MOST_VALUES} values")

    def _possible(self, claim: object) -> bool:
        self._solver.push()
        self._solver.add(claim)
        solver, found = self._solver, self._solver.check()
        if found == z3.unknown:  # products of symbols
            solver = z3.Solver()
            solver.set("timeout", _TIMEOUT_MS)
            solver.add(self._solver.assertions())
            found = solver.check()
        self._model = solver.model() if found == z3.sat else None
        self._solver.pop()
        if found == z3.unknown:
            raise UndecidedError(f"{claim}: {solver.reason_unknown()}")
        return bool(found == z3.sat)


class Number:
    """A Z3 integer with the operators of an int. Never equal in hash to a plain int."""

    def __init__(self, paths: Paths, term: Any) -> None:
        self.paths, self.term = paths, term

    def _made(self, found: Any) -> int:
        found = z3.simplify(found)
        if z3.is_int_value(found):
            return int(found.as_long())
        return cast(int, Number(self.paths, found))

    def __add__(self, other: object) -> int:
        return self._made(self.term + term(other))

    def __sub__(self, other: object) -> int:
        return self._made(self.term - term(other))

    def __rsub__(self, other: object) -> int:
        return self._made(term(other) - self.term)

    def __mul__(self, other: object) -> int:
        return self._made(self.term * term(other))

    def __neg__(self) -> int:
        return self._made(-self.term)

    def __floordiv__(self, other: object) -> int:
        return self._made(self.term / self._divisor(other))

    def __mod__(self, other: object) -> int:
        return self._made(self.term % self._divisor(other))

    def __divmod__(self, other: object) -> tuple[int, int]:
        return self // other, self % other

    def _divisor(self, other: object) -> Any:
        """Python rounds down, Z3 for positive divisors only."""
        assert isinstance(other, int)
        assert other > 0
        return term(other)

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other: object) -> bool:
        return self.paths.holds(self.term < term(other))

    def __le__(self, other: object) -> bool:
        return self.paths.holds(self.term <= term(other))

    def __gt__(self, other: object) -> bool:
        return self.paths.holds(self.term > term(other))

    def __ge__(self, other: object) -> bool:
        return self.paths.holds(self.term >= term(other))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | Number):
            return NotImplemented
        return self.paths.holds(self.term == term(other))

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __bool__(self) -> bool:
        return self.paths.holds(self.term != 0)

    def __index__(self) -> int:
        return self.paths.value_of(self)

    def __hash__(self) -> int:
        return hash(Number)

    def __str__(self) -> str:
        text = f"<{'_'.join(self.term.sexpr().split())}>"
        self.paths.texts[text] = cast(int, self)
        return text

    __repr__ = __str__


def term(number: object) -> Any:
    """The Z3 integer of a number or a plain int."""
    return number.term if isinstance(number, Number) else z3.IntVal(number)
