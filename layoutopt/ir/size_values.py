"""Sizes that are known at run time, as index values of MLIR.

The value of a size is named after the size, so that all ops that need it name the same one; what
computes it from the values of symbols stands ahead of the ops.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from layoutopt.ir.size import Quotient, Size, Symbol, Terms, one_symbol, symbols
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
    name = index_text(size)
    monomial, coefficient = size.terms[-1]
    last = monomial[-1:]
    if len(size.terms) > 1:
        parts = (_size(size.terms[:-1]), _size(size.terms[-1:]))
        text = f"arith.addi {_value(parts[0], found)}, {_value(parts[1], found)}"
    elif isinstance(last[0], Quotient) and len(monomial) == 1 and _rounds_up(last[0], coefficient):
        lhs, rhs = _value(-last[0].dividend, found), _value(last[0].divisor, found)
        text = f"arith.ceildivsi {lhs}, {rhs}"
    elif coefficient != 1:
        lhs, rhs = _value(_size(((monomial, 1),)), found), _value(coefficient, found)
        text = f"arith.muli {lhs}, {rhs}"
    elif len(monomial) > 1:
        parts = (_size(((monomial[:-1], 1),)), _size(((last, 1),)))
        text = f"arith.muli {_value(parts[0], found)}, {_value(parts[1], found)}"
    elif isinstance(last[0], Quotient):
        lhs, rhs = _value(last[0].dividend, found), _value(last[0].divisor, found)
        text = f"arith.floordivsi {lhs}, {rhs}"
    else:
        return name
    found[name] = text
    return name


def _size(terms: Terms) -> int:
    """The sum of some terms of a size."""
    return Size(terms) if terms[0][0] or len(terms) > 1 else terms[0][1]


def _rounds_up(quotient: Quotient, coefficient: int) -> bool:
    """Whether it is ``-floor(-x / n)``, which is x / n rounded up."""
    return coefficient == -1 and quotient.dividend.terms[0][1] < 0
