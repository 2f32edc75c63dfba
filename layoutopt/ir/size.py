"""Sizes that are known at run time only: polynomials over symbols, with what is known of them.

A size of a tensor is an ``int`` or a `Size`. Arithmetic of both is exact: ``s + 1``, ``2 * s``,
``s * h`` and quotients by a number. Two sizes are equal where their polynomials are. What a
comparison cannot decide from the ranges and divisors of the symbols raises `Undecided`, so that no
rule takes for granted what holds at one size only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

MOST = 1 << 40
"""No size is larger: a tensor of more elements fits no memory."""
_KEPT = 1 << 14
"""Results of arithmetic that are kept: a model has few sizes, and asks for them all the time."""


class Undecided(Exception):  # noqa: N818 -- a rule that meets it does not apply
    """A question about sizes that their ranges do not answer; the text says which."""


@dataclass(frozen=True, order=True)
class Symbol:
    """A number that is known at run time, an integer in [low, high].

    ``planned``: what it is taken to be where time or memory is worked out.
    """

    name: str
    low: int = 0
    high: int = MOST
    planned: int = 1

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Quotient:
    """``floor(dividend / divisor)`` of a size that is no multiple of the number for certain."""

    dividend: Size
    divisor: int

    def __str__(self) -> str:
        return f"({self.dividend}) floordiv {self.divisor}"


Atom = Symbol | Quotient
Monomial = tuple[Atom, ...]
"""Atoms that are multiplied, in order of their text."""
Terms = tuple[tuple[Monomial, int], ...]
Range = tuple[float, float]

if TYPE_CHECKING:
    from builtins import int as _Number  # noqa: N812
else:
    _Number = object
"""To the type checker a size is an integer; it does what integers do, or raises `Undecided`."""


class Size(_Number):
    """A polynomial over symbols that is no plain number; immutable."""

    __slots__ = ("_hash", "terms")
    terms: Terms
    _hash: int

    def __new__(cls, terms: Terms) -> Size:
        """``terms``: in canonical order, without zeros; see `size_of`, which makes them."""
        made = object.__new__(cls)
        object.__setattr__(made, "terms", terms)
        object.__setattr__(made, "_hash", hash(terms))
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        return (Size, (self.terms,))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Size) and self.terms == other.terms

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __add__(self, other: int) -> int:
        return _sum(self, other)

    __radd__ = __add__

    def __neg__(self) -> int:
        return _times_of(self, -1)

    def __sub__(self, other: int) -> int:
        return self + -other

    def __rsub__(self, other: int) -> int:
        return -self + other

    def __mul__(self, other: int) -> int:
        return _times_of(self, other)

    __rmul__ = __mul__

    def __floordiv__(self, other: int) -> int:
        return _quotient(self, other)

    def __rfloordiv__(self, other: int) -> int:
        if other == 0:
            return 0
        raise Undecided(f"expected a number to divide by, but got {self}")

    def __mod__(self, other: int) -> int:
        return self - self // other * other

    def __rmod__(self, other: int) -> int:
        raise Undecided(f"expected a number to divide by, but got {self}")

    def __divmod__(self, other: int) -> tuple[int, int]:
        return self // other, self % other

    def __lt__(self, other: int) -> bool:
        return _decided(self - other, "<", lambda low, high: (high < 0, low >= 0))

    def __le__(self, other: int) -> bool:
        return _decided(self - other, "<=", lambda low, high: (high <= 0, low > 0))

    def __gt__(self, other: int) -> bool:
        return not self <= other

    def __ge__(self, other: int) -> bool:
        return not self < other

    def __bool__(self) -> bool:
        low, high = bounds(self)
        if low > 0 or high < 0:
            return True
        raise Undecided(f"expected to know whether {self} is zero")

    def __index__(self) -> int:
        raise Undecided(f"expected a number, but got the size {self}")

    __int__ = __index__

    def __str__(self) -> str:
        return " + ".join(_term_text(m, c) for m, c in self.terms).replace("+ -", "- ")

    def __repr__(self) -> str:
        return f"Size({self.terms!r})"


@lru_cache(maxsize=_KEPT)
def _sum(one: Size, other: int) -> int:
    return _of((*one.terms, *_terms(other)))


@lru_cache(maxsize=_KEPT)
def _times_of(one: Size, other: int) -> int:
    return _of(
        (tuple(sorted((*m, *n), key=str)), c * d) for m, c in one.terms for n, d in _terms(other)
    )


@lru_cache(maxsize=_KEPT)
def _quotient(one: Size, other: int) -> int:
    if isinstance(other, Size):
        return _exact(one, other)
    if other <= 0:
        raise Undecided(f"expected to divide by a positive number, but got {other}")
    whole = _of((m, c // other if c > 0 else -(-c // other)) for m, c in one.terms)
    rest: int = one - whole * other
    low, high = bounds(rest)
    if low // other == high // other:
        return whole + int(low // other)
    assert isinstance(rest, Size)  # a number has one quotient
    return whole + Size((((Quotient(rest, other),), 1),))


def symbol(name: str, low: int = 0, high: int = MOST, divisor: int = 1, planned: int = 1) -> int:
    """A size that lies in [low, high] and that ``divisor`` divides: so many times a symbol."""
    low, high = -(-low // divisor), high // divisor
    if low > high:
        raise ValueError(f"{name}: expected a multiple of {divisor} in its range, but got none")
    if low == high:
        return low * divisor
    shown = name if divisor == 1 else f"{name}/{divisor}"
    one = Symbol(shown, low, high, min(max(planned // divisor, low), high))
    return _of([((one,), divisor)])


def one_symbol(of: Symbol) -> int:
    """The size that is this symbol, or the one number that it can be."""
    return of.low if of.low == of.high else Size((((of,), 1),))


def alone(size: int) -> Symbol | None:
    """The symbol that a size is, None for any other."""
    if not isinstance(size, Size) or len(size.terms) != 1:
        return None
    ((monomial, coefficient),) = size.terms
    if coefficient != 1 or len(monomial) != 1:
        return None
    return monomial[0] if isinstance(monomial[0], Symbol) else None


def solved(one: int, other: int, rank: Callable[[str], int]) -> tuple[Symbol, int] | None:
    """A symbol and the size that it is where two sizes are equal; None where that says none.

    Of ``s + 1`` and ``t + 1`` that is ``t`` and ``s`` where the name of ``t`` has the higher rank:
    the symbol ranks above all that its size is made of. The size is never negative.
    """
    gap: int = one - other
    found = max(symbols(gap), key=lambda s: rank(s.name), default=None)
    times = 0 if found is None else coefficient(gap, found)
    if found is None or not times:
        return None
    rest: int = gap - times * one_symbol(found)
    if found in symbols(rest) or any(c % times for _, c in _terms(rest)):
        return None
    value = _of((m, -c // times) for m, c in _terms(rest))
    return (found, value) if bounds(value)[0] >= 0 else None


def linear(size: int) -> tuple[Symbol, int, int] | None:
    """``(s, c, k)`` where a size is ``c * s + k`` of one symbol; None for any other."""
    found = symbols(size)
    if len(found) != 1:
        return None
    (one,) = found
    times = coefficient(size, one)
    rest: int = size - times * one_symbol(one)
    return None if isinstance(rest, Size) else (one, times, rest)


@lru_cache(maxsize=_KEPT)
def bounds(size: int) -> Range:
    """The least and the largest that a size can be, by the ranges of its symbols alone."""
    shared = _shared(size)
    if shared is not None:
        return _times(bounds(shared), bounds(size // shared))
    low = high = 0.0
    for monomial, coefficient in _terms(size):
        least, most = _times(_product(monomial), (coefficient, coefficient))
        low, high = low + least, high + most
    return low, high


def planned(size: int) -> int:
    """What a size is where its symbols are what is planned for."""
    if not isinstance(size, Size):
        return size
    return at(size, {})


def at(size: int, values: Mapping[str, int]) -> int:
    """What a size is where symbols have these values; the others have what is planned."""
    if not isinstance(size, Size):
        return size
    return sum(c * math.prod(_atom_at(a, values) for a in m) for m, c in size.terms)


def symbols(size: int) -> tuple[Symbol, ...]:
    """The symbols of a size, each once, in order of their names."""
    found: dict[Symbol, None] = {}
    for monomial, _ in _terms(size):
        for atom in monomial:
            found.update(dict.fromkeys(_inside(atom)))
    return tuple(sorted(found))


def coefficient(size: int, symbol: Symbol) -> int:
    """How often a size counts a symbol by itself: ``c`` of ``c * s + k``."""
    return dict(_terms(size)).get((symbol,), 0)


def is_linear_in(size: int, name: str) -> bool:
    """Whether a size is ``c * s + k`` of the symbol of that name, neither of which holds it."""
    for monomial, _ in _terms(size):
        held = [s.name == name for atom in monomial for s in _inside(atom)]
        alone = len(monomial) == 1 and isinstance(monomial[0], Symbol)
        if any(held) and not alone:
            return False
    return True


def _inside(atom: Atom) -> tuple[Symbol, ...]:
    return (atom,) if isinstance(atom, Symbol) else symbols(atom.dividend)


def with_symbols(size: int, replaced: Callable[[Symbol], int]) -> int:
    """The size with other sizes in place of its symbols."""
    if not isinstance(size, Size):
        return size
    total = 0
    for monomial, coefficient in size.terms:
        total = total + coefficient * math.prod(_atom_with(a, replaced) for a in monomial)
    return total


def divides(divisor: int, size: int) -> bool:
    """Whether a size is a multiple of another one for certain."""
    try:
        return size % divisor == 0
    except Undecided:
        return False


def nonempty(size: int) -> int:
    """The size where no symbol is zero."""
    return _nonempty(size) if isinstance(size, Size) else size


@lru_cache(maxsize=_KEPT)
def _nonempty(size: Size) -> int:
    return with_symbols(size, lambda s: one_symbol(replace(s, low=max(s.low, 1))))


def _atom_at(atom: Atom, values: Mapping[str, int]) -> int:
    if isinstance(atom, Symbol):
        return values.get(atom.name, atom.planned)
    return at(atom.dividend, values) // atom.divisor


def _atom_with(atom: Atom, replaced: Callable[[Symbol], int]) -> int:
    if isinstance(atom, Symbol):
        return replaced(atom)
    return with_symbols(atom.dividend, replaced) // atom.divisor


def _terms(size: int) -> Terms:
    if isinstance(size, Size):
        return size.terms
    return (((), size),) if size else ()


def _of(terms: Iterable[tuple[Monomial, int]]) -> int:
    """The sum of terms; a number where no symbol is left."""
    collected: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        collected[monomial] = collected.get(monomial, 0) + coefficient
    left = {m: c for m, c in collected.items() if c}
    if not left or set(left) == {()}:
        return left.get((), 0)
    return Size(tuple(sorted(left.items(), key=lambda t: (-len(t[0]), *map(str, t[0])))))


def _product(monomial: Monomial) -> Range:
    """The range of atoms multiplied."""
    low, high = 1.0, 1.0
    for atom in monomial:
        if isinstance(atom, Symbol):
            ends = (float(atom.low), float(atom.high))
        else:
            least, most = bounds(atom.dividend)
            ends = (least // atom.divisor, most // atom.divisor)
        low, high = _times((low, high), ends)
    return low, high


def _times(one: Range, other: Range) -> Range:
    corners = [a * b for a in one for b in other]
    return min(corners), max(corners)


def _exact(size: Size, divisor: Size) -> int:
    """The quotient of a polynomial by one term that divides all of its own."""
    if len(divisor.terms) != 1:
        raise Undecided(f"expected a quotient that is a size, but got {size} by {divisor}")
    monomial, coefficient = divisor.terms[0]
    found = []
    for own, c in size.terms:
        left = list(own)
        for atom in monomial:
            if atom not in left:
                raise Undecided(f"expected a quotient that is a size, but got {size} by {divisor}")
            left.remove(atom)
        if c % coefficient:
            raise Undecided(f"expected a quotient that is a size, but got {size} by {divisor}")
        found.append((tuple(left), c // coefficient))
    return _of(found)


def _decided(gap: int, word: str, answers: Callable[[float, float], tuple[bool, bool]]) -> bool:
    yes, no = answers(*bounds(gap))
    if yes or no:
        return yes
    raise Undecided(f"expected to know whether {gap} {word} 0")


def _shared(size: int) -> Size | None:
    """What every term of several is a multiple of; None where that is nothing."""
    if not isinstance(size, Size) or len(size.terms) == 1:
        return None
    shared = set(size.terms[0][0]).intersection(*(m for m, _ in size.terms[1:]))
    return Size(((tuple(sorted(shared, key=str)), 1),)) if shared else None


def _term_text(monomial: Monomial, coefficient: int) -> str:
    factors = [str(a) if isinstance(a, Symbol) else f"({a})" for a in monomial]
    if coefficient == -1 and factors:
        return "-" + "*".join(factors)
    if coefficient != 1 or not factors:
        factors = [str(coefficient), *factors]
    return "*".join(factors)
