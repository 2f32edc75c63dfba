"""Index arithmetic of a module, read as sizes.

d = tensor.dim x, 1; c = cmpi slt, d, 0; select c, 0, d      ->      the size of dim 1 of x
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from iree.compiler import ir

from layoutopt.ir.size import (
    MOST,
    Symbol,
    Undecided,
    alone,
    bounds,
    is_linear_in,
    one_symbol,
    planned,
    symbols,
    with_symbols,
)
from layoutopt.mlir.read.sizes import SCALARS, Number, Sizes

_DIM = "tensor.dim"


def read_number(sizes: Sizes, op: Any, scalars: Mapping[Any, tuple[str, str]]) -> bool:
    """Learn which integer an op computes; whether it is known."""
    operation = op.operation
    if len(operation.results) != 1 or str(operation.results[0].type) not in (*SCALARS, "i1"):
        return False
    try:
        found = _number(sizes, operation, scalars)
    except Undecided:
        found = _in_all_steps(sizes, operation, scalars)
    if found is not None:
        sizes.numbers[operation.results[0]] = found
    return found is not None


def undecided(
    sizes: Sizes, op: Any, scalars: Mapping[Any, tuple[str, str]]
) -> tuple[int, int, int] | None:
    """The range and the planned size of what an op computes of known sizes, though which is open.

    None for any other op.
    """
    operation = op.operation
    compute = ARITHMETIC.get(operation.name)
    read = [sizes.number_of(v, scalars) for v in operation.operands]
    if compute is None or str(operation.results[0].type) not in SCALARS or None in read:
        return None
    known = [n for n in read if n is not None]
    low, high = -MOST, MOST
    try:
        if operation.name in _MONOTONE:
            ends = [bounds(n) for n in known]
            low, high = (int(compute(*(int(e[i]) for e in ends))) for i in (0, 1))
        return low, high, int(compute(*map(planned, known)))
    except Undecided:  # a quotient of a negative number, an unsigned one of what may be negative
        return low, high, 1


def _in_all_steps(
    sizes: Sizes, operation: Any, scalars: Mapping[Any, tuple[str, str]]
) -> Number | None:
    """What a comparison finds in all steps of a loop: at the ends, since it is linear between."""
    read = [sizes.number_of(v, scalars) for v in operation.operands]
    known = [n for n in read if n is not None and not isinstance(n, bool)]
    if len(known) != len(read) or len(known) != 2:
        return None
    gap: int = known[0] - known[1]
    steps = [s.name for s in symbols(gap) if s.name in sizes.ends]
    if len(steps) != 1 or not is_linear_in(gap, steps[0]):
        return None
    first, last = sizes.ends[steps[0]]
    ends = [bounds(_at(gap, steps[0], end, last - first + 1)) for end in (first, last)]
    low, high = min(least for least, _ in ends), max(most for _, most in ends)
    if operation.name in ("arith.minsi", "arith.maxsi") and not low < 0 < high:
        least = operation.name == "arith.minsi"
        return known[0] if (high <= 0) == least else known[1]
    if operation.name == "arith.cmpi":
        return _compared_within(
            int(ir.IntegerAttr(operation.attributes["predicate"]).value), low, high
        )
    return None


def _at(size: int, name: str, value: int, count: int) -> int:
    """A size at one value of the symbol of that name, where ``count`` is at least 1."""
    counted = alone(count)

    def known(one: Symbol) -> int:
        return one_symbol(replace(one, low=max(one.low, 1)) if one == counted else one)

    there = with_symbols(size, lambda s: value if s.name == name else one_symbol(s))
    return with_symbols(there, known)


def _compared_within(predicate: int, low: float, high: float) -> bool | None:
    """What ``arith.cmpi`` of signed numbers finds whose difference lies in [low, high]."""
    always = {2: high < 0, 3: high <= 0, 4: low > 0, 5: low >= 0}
    never = {2: low >= 0, 3: low > 0, 4: high <= 0, 5: high < 0}
    if always.get(predicate):
        return True
    return False if never.get(predicate) else None


def _number(sizes: Sizes, operation: Any, scalars: Mapping[Any, tuple[str, str]]) -> Number | None:
    if operation.name == _DIM:
        return _dim(sizes, operation, scalars)
    read = [sizes.number_of(v, scalars) for v in operation.operands]
    if operation.name == "arith.select":
        condition, one, other = read
        if condition is None:
            return one if one is not None and one == other else None
        return one if condition else other
    if any(n is None for n in read):
        return None
    known = [n for n in read if n is not None]
    if operation.name == "arith.cmpi":
        return compared(int(ir.IntegerAttr(operation.attributes["predicate"]).value), known)
    if operation.name.startswith("affine."):
        return _of_map(operation, known)
    compute = ARITHMETIC.get(operation.name)
    return None if compute is None else compute(*known)


def _dim(sizes: Sizes, operation: Any, scalars: Mapping[Any, tuple[str, str]]) -> int | None:
    source, position = operation.operands
    number = sizes.number_of(position, scalars)
    if not isinstance(source.type, ir.RankedTensorType) or not isinstance(number, int):
        return None
    shape = sizes.shape_of(source)
    return None if shape is None or not 0 <= number < len(shape) else shape[number]


def _natural(*numbers: int) -> None:
    """Raise Undecided unless all numbers are known to be at least zero."""
    for n in numbers:
        if bounds(n)[0] < 0:
            raise Undecided(f"expected at least zero, but got {n}")


def _quotient(one: int, other: int) -> int:
    _natural(one, other - 1)
    return one // other


def _floored(one: int, other: int) -> int:
    _natural(other - 1)
    return one // other


def _rest(one: int, other: int) -> int:
    _natural(one, other - 1)
    return one % other


def _rounded_up(one: int, other: int) -> int:
    _natural(other - 1)
    return -(-one // other)


def _rounded_up_unsigned(one: int, other: int) -> int:
    _natural(one)
    return _rounded_up(one, other)


def _unsigned(one: int) -> int:
    _natural(one)
    return one


def _least(one: int, other: int) -> int:
    low, high = bounds(one - other)
    if low < 0 < high:
        raise Undecided(f"expected to know which of {one} and {other} is less")
    return other if low >= 0 else one


def _most(one: int, other: int) -> int:
    return one if _least(one, other) == other else other


def _unsigned_pair(of: Callable[[int, int], int]) -> Callable[[int, int], int]:
    def checked(one: int, other: int) -> int:
        _natural(one, other)
        return of(one, other)

    return checked


_MONOTONE = ("arith.minsi", "arith.maxsi", "arith.minui", "arith.maxui")
ARITHMETIC: dict[str, Callable[..., int]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": lambda a, b: a - b,
    "arith.muli": lambda a, b: a * b,
    "arith.divsi": _quotient,
    "arith.divui": _quotient,
    "arith.floordivsi": _floored,
    "arith.ceildivsi": _rounded_up,
    "arith.ceildivui": _rounded_up_unsigned,
    "arith.remsi": _rest,
    "arith.remui": _rest,
    "arith.minsi": _least,
    "arith.minui": _unsigned_pair(_least),
    "arith.maxsi": _most,
    "arith.maxui": _unsigned_pair(_most),
    "arith.index_cast": lambda a: a,
    "arith.extsi": lambda a: a,
    "arith.index_castui": _unsigned,
    "arith.extui": _unsigned,
}


def compared(predicate: int, numbers: Sequence[Number]) -> bool | None:
    """What ``arith.cmpi`` finds, None where it is not known. Raises Undecided too."""
    if any(isinstance(n, bool) for n in numbers):
        return None
    one, other = numbers
    if predicate in (0, 1):
        low, high = bounds(one - other)
        if low > 0 or high < 0:
            return predicate == 1
        if one == other:
            return predicate == 0
        return None
    if predicate >= 6:
        _natural(one, other)
    return bool(_ORDERS[(predicate - 2) % 4](one, other))


_ORDERS: tuple[Callable[[int, int], bool], ...] = (
    lambda a, b: a < b,
    lambda a, b: a <= b,
    lambda a, b: a > b,
    lambda a, b: a >= b,
)


def _of_map(operation: Any, numbers: Sequence[int]) -> int | None:
    if "map" not in operation.attributes:
        return None
    found = ir.AffineMapAttr(operation.attributes["map"]).value
    values = [_of_form(e, numbers, found.n_dims) for e in found.results]
    if operation.name == "affine.apply":
        return values[0]
    pick = {"affine.min": _least, "affine.max": _most}.get(operation.name)
    if pick is None:
        return None
    chosen = values[0]
    for value in values[1:]:
        chosen = pick(chosen, value)
    return chosen


def _of_form(form: Any, numbers: Sequence[int], dims: int) -> int:
    if isinstance(form, ir.AffineDimExpr | ir.AffineSymbolExpr):
        first: int = dims if isinstance(form, ir.AffineSymbolExpr) else 0
        place: int = first + form.position
        return numbers[place]
    if isinstance(form, ir.AffineConstantExpr):
        return int(form.value)
    lhs: int = _of_form(form.lhs, numbers, dims)
    rhs: int = _of_form(form.rhs, numbers, dims)
    if isinstance(form, ir.AffineAddExpr):
        return lhs + rhs
    if isinstance(form, ir.AffineMulExpr):
        return lhs * rhs
    if isinstance(form, ir.AffineModExpr):
        return lhs % rhs
    return -(-lhs // rhs) if isinstance(form, ir.AffineCeilDivExpr) else lhs // rhs
