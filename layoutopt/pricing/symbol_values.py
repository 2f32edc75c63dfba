"""Where a benchmark takes the values of symbols from: dims of its inputs, as the model does."""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.ir.size import Size, Symbol
from layoutopt.ir.size_values import symbol_value
from layoutopt.ir.types import TensorType
from layoutopt.pricing.measure.benchmark import PASSED_TYPE


def symbol_lines(
    inputs: Sequence[int], types: Sequence[TensorType], wanted: Sequence[Symbol]
) -> tuple[list[str], tuple[Symbol, ...]]:
    """Lines that define the values of symbols, and the symbols that are to be passed.

    A symbol is found in a dim of an input that is ``a * s + b``; no other input says what it is.
    """
    lines: list[str] = []
    passed: list[Symbol] = []
    for symbol in wanted:
        found = _place(inputs, types, symbol)
        if found is None:
            passed.append(symbol)
            lines += _passed_lines(symbol)
        else:
            tensor, place = found
            lines += _asked_lines(symbol, tensor, types[tensor], place)
    return lines, tuple(passed)


def passed_name(symbol: Symbol) -> str:
    """The name of the tensor that a symbol's value is passed in."""
    return f"{symbol_value(symbol)}.passed"


def _place(
    inputs: Sequence[int], types: Sequence[TensorType], symbol: Symbol
) -> tuple[int, tuple[int, int, int]] | None:
    """An input, and of it a dim with a and b of its size ``a * s + b``."""
    for tensor in inputs:
        for dim, size in enumerate(types[tensor].shape):
            terms = dict(size.terms) if isinstance(size, Size) else {}
            factor, rest = terms.pop((symbol,), 0), terms.pop((), 0)
            if factor > 0 and not terms:
                return tensor, (dim, factor, rest)
    return None


def _asked_lines(
    symbol: Symbol, tensor: int, kind: TensorType, place: tuple[int, int, int]
) -> list[str]:
    """Lines that solve ``dim = factor * symbol + rest`` for the symbol."""
    dim, factor, rest = place
    name = symbol_value(symbol)
    plain = factor == 1 and rest == 0
    asked = name if plain else f"{name}.asked"
    lines = [
        f"  {name}.dim = arith.constant {dim} : index",
        f"  {asked} = tensor.dim %t{tensor}, {name}.dim : {kind}",
    ]
    if plain:
        return lines
    return [
        *lines,
        f"  {name}.rest = arith.constant {rest} : index",
        f"  {name}.factor = arith.constant {factor} : index",
        f"  {name}.whole = arith.subi {asked}, {name}.rest : index",
        f"  {name} = arith.divui {name}.whole, {name}.factor : index",
    ]


def _passed_lines(symbol: Symbol) -> list[str]:
    name, given = symbol_value(symbol), passed_name(symbol)
    return [
        f"  {name}.number = tensor.extract {given}[] : {PASSED_TYPE}",
        f"  {name} = arith.index_cast {name}.number : i64 to index",
    ]
