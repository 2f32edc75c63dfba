"""Sizes that are known at run time, as index values of MLIR.

The value of a size is named after the size, so that all ops that need it name the same one; what
computes it from the values of symbols stands ahead of the ops.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from layoutopt.ir.size import Monomial, Quotient, Size, Symbol, Terms, one_symbol, symbols
from layoutopt.ir.types import TensorType

_NAME = re.compile(r"%n_[\w$.]+")
_WORDS = {"+": "$plus$", "-": "$minus$", "*": "$x$", "/": "$by$", "(": "$l$", ")": "$r$", " ": ""}
_NAMED: dict[str, Size] = {}
"""Every size that has been named; its name says all about it."""


def index_text(size: int) -> str:
    """A size as an operand of MLIR: a number, or the name of an index value."""
    if not isinstance(size, Size):
        return str(size)
    coded = re.sub(r"[^\w.]", lambda c: _WORDS.get(c[0], f"${ord(c[0]):x}$"), str(size))
    name = f"%n_{coded}"
    _NAMED[name] = size
    return name


def list_text(sizes: Iterable[int]) -> str:
    """Sizes as a list of MLIR, ``[1, %n_s, 64]``."""
    return f"[{', '.join(map(index_text, sizes))}]"


def empty_text(kind: TensorType) -> str:
    """A ``tensor.empty`` of a type, without the name of its value."""
    sizes = ", ".join(index_text(n) for n in kind.shape if isinstance(n, Size))
    return f"tensor.empty({sizes}) : {kind}"


def sized_text(kind: TensorType) -> str:
    """A type with its open sizes as operands, ``tensor<?x4xf32>{%n_s}``."""
    sizes = ", ".join(index_text(n) for n in kind.shape if isinstance(n, Size))
    return f"{kind}{{{sizes}}}" if sizes else str(kind)


def symbols_in(lines: Sequence[str]) -> tuple[Symbol, ...]:
    """The symbols whose values lines of MLIR need, in order of their names."""
    return tuple(sorted({s for size in _named_in(lines) for s in symbols(size)}))


def symbol_value(symbol: Symbol) -> str:
    """The name of the index value of a symbol."""
    return index_text(one_symbol(symbol))


def size_lines(lines: Sequence[str]) -> list[str]:
    """Lines that compute the sizes which lines of MLIR name, from the values of symbols."""
    found: dict[str, str] = {}
    for size in _named_in(lines):
        _value(size, found)
    return [f"  {name} = {text} : index" for name, text in found.items()]


def _named_in(lines: Sequence[str]) -> list[Size]:
    names = dict.fromkeys(name for line in lines for name in _NAME.findall(line))
    return [_NAMED[name] for name in names if name in _NAMED]


def _value(size: int, found: dict[str, str]) -> str:
    """The name of a size's value; what computes it is added to ``found``, by name."""
    if not isinstance(size, Size):
        name = f"%c_{size}".replace("-", "minus_")
        found[name] = f"arith.constant {size}"
        return name
    name, made = index_text(size), computed(size)
    if made is not None:
        op, *parts = made
        lhs, rhs = (_value(part, found) for part in parts)
        found[name] = f"arith.{op} {lhs}, {rhs}"
    return name


def computed(size: Size) -> tuple[str, int, int] | None:
    """The op of ``arith`` that makes a size of two others; None for a symbol.

    None has a factor below zero or divides what is below zero: of a multiple of -32 IREE 3.13 takes
    2^64 - 32 to be a divisor, and leaves out all that no such number of steps would run.
    """
    below = tuple(term for term in size.terms if _is_negative(term))
    if below:
        above = tuple(term for term in size.terms if term not in below)
        return "subi", _size(above) if above else 0, -_size(below)
    if len(size.terms) > 1:
        return "addi", _size(size.terms[:-1]), _size(size.terms[-1:])
    ((monomial, coefficient),) = size.terms
    *others, last = monomial
    rounds_up = isinstance(last, Quotient) and last.dividend.terms[0][1] < 0
    sign = -1 if rounds_up else 1
    if others or coefficient != sign:
        rest = _size(((tuple(others), sign * coefficient),))
        return "muli", rest, _size((((last,), sign),))
    if not isinstance(last, Quotient):
        return None
    if rounds_up:  # -floor(-x / n)
        return "ceildivsi", -last.dividend, last.divisor
    return "floordivsi", last.dividend, last.divisor


def _is_negative(term: tuple[Monomial, int]) -> bool:
    """Whether a term is below zero, each quotient that rounds up taken for what it rounds up."""
    monomial, coefficient = term
    turned = sum(isinstance(a, Quotient) and a.dividend.terms[0][1] < 0 for a in monomial)
    return (coefficient < 0) != (turned % 2 == 1)


def _size(terms: Terms) -> int:
    """The sum of some terms of a size."""
    return Size(terms) if terms[0][0] or len(terms) > 1 else terms[0][1]
