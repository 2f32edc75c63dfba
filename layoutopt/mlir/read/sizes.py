"""Sizes that are known at run time: which size each value of the module is.

A dim of a tensor from outside is a symbol. What the module computes from such dims is read as a
size where it is one for certain: `max(min(select(s < 0, 0, s), s + 1), 0)` is s. Any other number
that is taken as a dim is a symbol of its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from iree.compiler import ir

from layoutopt.ir.planned_sizes import renamed
from layoutopt.ir.size import (
    MOST,
    Size,
    Symbol,
    alone,
    linear,
    one_symbol,
    solved,
    symbol,
    with_symbols,
)
from layoutopt.ir.size_values import computed

DYNAMIC = -(2**63)
"""What MLIR's attributes hold in place of a number that is an operand."""
SCALARS = ("index", "i64")
"""Types that a size has; narrower ones could overflow."""
Number = int | bool


@dataclass(frozen=True, slots=True)
class Assumption:
    """What a ``util.assume.int`` states of one of its operands."""

    op: Any
    position: int
    name: str
    """Of the size that it is."""
    low: int
    high: int
    divisor: int

    def __str__(self) -> str:
        stated = [f"a multiple of {self.divisor}"] if self.divisor > 1 else []
        stated += [f"at least {self.low}"] if self.low > 0 else []
        stated += [f"at most {self.high}"] if self.high < MOST else []
        return f"{self.name}: expected {', '.join(stated)}, as util.assume.int states"


@dataclass
class Sizes:
    """What is known of the integers and shapes of a function."""

    numbers: dict[Any, Number] = field(default_factory=dict)
    """By value: of index and i64 values that are computed, and of conditions."""
    shapes: dict[Any, tuple[int, ...]] = field(default_factory=dict)
    """By tensor whose type leaves sizes open."""
    values: dict[str, Any] = field(default_factory=dict)
    """By name of a symbol, the index value that it is."""
    stages: dict[str, int] = field(default_factory=dict)
    """By name of a symbol, how many kept ops must come before what needs its value."""
    equal: dict[str, int] = field(default_factory=dict)
    """By name of a symbol, the size that the module takes it to be."""
    narrowed: dict[str, Symbol] = field(default_factory=dict)
    """By name of a symbol, the same in a smaller range."""
    ends: dict[str, tuple[int, int]] = field(default_factory=dict)
    """By name of a symbol that a loop counts with, its first and its last value."""
    assumptions: list[Assumption] = field(default_factory=list)
    """What the block states of numbers, and plans may rely on."""

    def copied(self) -> Sizes:
        """The same, to learn more that this one does not know."""
        return Sizes(
            dict(self.numbers),
            dict(self.shapes),
            dict(self.values),
            dict(self.stages),
            dict(self.equal),
            dict(self.narrowed),
            dict(self.ends),
            [*self.assumptions],
        )

    def resolved(self, size: int) -> int:
        """The size with what is known to be equal in place of its symbols."""

        def known(one: Symbol) -> int:
            if one.name in self.equal:
                return self.resolved(self.equal[one.name])
            return one_symbol(self.narrowed.get(one.name, one))

        return with_symbols(size, known) if self.equal or self.narrowed else size

    def unify(self, one: int, other: int) -> int:
        """The size that two sizes are, which the module takes to be equal.

        It is made of those of their symbols that have their values first.
        """
        one, other = self.resolved(one), self.resolved(other)
        if one == other:
            return one
        for size in (one, other):  # neither is negative, or the module would not be one
            self.narrow(size, 0, MOST)
        one, other = self.resolved(one), self.resolved(other)
        order = {name: place for place, name in enumerate(self.values)}
        # a part of a size has its value where the size has
        found = solved(one, other, lambda n: order.get(n.partition("/")[0], -1))
        if found is not None:
            symbol, known = found
            self.equal[symbol.name] = known
            self.narrow(known, symbol.low, symbol.high)
        return self.resolved(one)

    def narrow(self, size: int, low: int, high: int) -> None:
        """Learn that a size lies in [low, high], or the module would not be one."""
        found = linear(self.resolved(size))
        if found is None or found[1] <= 0:
            return
        one, times, more = found
        low, high = max(-((more - low) // times), one.low), min((high - more) // times, one.high)
        if low <= high and (low, high) != (one.low, one.high):
            planned = min(max(one.planned, low), high)
            self.narrowed[one.name] = Symbol(one.name, low, high, planned)

    def renamed(self, names: Mapping[str, str]) -> Sizes:
        """The same with other names of symbols; of those of one name the first has the value."""
        values: dict[str, Any] = {}
        stages: dict[str, int] = {}
        for name, value in self.values.items():
            values.setdefault(renamed(name, names), value)
            stages.setdefault(renamed(name, names), self.stages[name])
        stated = [replace(a, name=renamed(a.name, names)) for a in self.assumptions]
        return replace(self, values=values, stages=stages, assumptions=stated)

    def shape_of(self, value: Any) -> tuple[int, ...] | None:
        """The sizes of a tensor, None where they are not known."""
        if value.type.has_static_shape:
            return tuple(value.type.shape)
        if value not in self.shapes:
            return None
        return tuple(map(self.resolved, self.shapes[value]))

    def number_of(self, value: Any, scalars: Mapping[Any, tuple[str, str]]) -> Number | None:
        """The integer or condition that a value is, None where it is not known."""
        if value in self.numbers:
            found = self.numbers[value]
            return found if isinstance(found, bool) else self.resolved(found)
        if value in scalars and scalars[value][1] in (*SCALARS, "i1"):
            text = scalars[value][0].split(":")[0].strip()
            return text == "true" if text in ("true", "false") else int(text)
        return None

    def name(self, wanted: str, size: Callable[[str], int], value: Any, stage: int) -> int:
        """A new symbol whose value is ``value``; ``size`` makes it of its name."""
        number, name = 2, wanted
        while name in self.values:
            name, number = f"{wanted}.{number}", number + 1
        self.values[name] = value
        self.stages[name] = stage
        return size(name)


def assumed(sizes: Sizes, op: Any, stage: int, scalars: Mapping[Any, tuple[str, str]]) -> None:
    """Learn the ranges and divisors that ``util.assume.int`` states of values."""
    for position, result in enumerate(op.operation.results):
        alternatives = ir.ArrayAttr(op.operation.attributes["assumptions"])[position]
        low, high, divisor = _range([str(a) for a in ir.ArrayAttr(alternatives)])
        if low > high // divisor * divisor:
            low, high, divisor = 0, MOST, 1  # what contradicts itself says nothing
        known = sizes.number_of(op.operation.operands[position], scalars)
        if known is None or isinstance(known, bool):
            make = partial(symbol, low=low, high=high)
            known = sizes.name(f"assumed{len(sizes.values)}", make, result, stage)
        if (low, high, divisor) != (0, MOST, 1):
            stated = Assumption(op.operation, position, str(known), low, high, divisor)
            sizes.assumptions.append(stated)
        sizes.narrow(known, low, high)
        if divisor > 1:
            divide(sizes, known, divisor)
        sizes.numbers[result] = known


def divide(sizes: Sizes, size: int, divisor: int) -> None:
    """Learn that a number divides a size: one that is a symbol is so many times another one."""
    whole = alone(sizes.resolved(size))
    if whole is None or -(-whole.low // divisor) > whole.high // divisor:
        return
    name = f"{whole.name}/{divisor}"
    value = sizes.values[whole.name]
    owner = value.owner
    at_start = isinstance(owner, ir.Block)
    point = ir.InsertionPoint.at_block_begin(owner) if at_start else ir.InsertionPoint.after(owner)
    with point, ir.Location.unknown():
        sizes.values[name] = arith_op("divui", value, constant_op(divisor, value.type))
    sizes.stages[name] = sizes.stages[whole.name]
    planned = max(whole.planned // divisor, -(-whole.low // divisor))
    part = Symbol(name, -(-whole.low // divisor), whole.high // divisor, planned)
    sizes.equal[whole.name] = divisor * one_symbol(part)


def as_index(argument: Any) -> Any:
    """An argument of a block as an index, cast ahead of the block's ops where it is no index."""
    kind = ir.IndexType.get(argument.context)
    if str(argument.type) == "index":
        return argument
    with ir.InsertionPoint.at_block_begin(argument.owner), ir.Location.unknown(argument.context):
        made = ir.Operation.create("arith.index_cast", results=[kind], operands=[argument])
    return made.results[0]


def materialized(sizes: Sizes, number: Number, kind: Any, reader: Any) -> Any:
    """The value of a number, computed in front of the op ``reader``."""
    with ir.InsertionPoint(reader.operation), reader.operation.location:
        if isinstance(number, bool) or str(kind) == "i1":
            return constant_op(int(number), kind)
        found = built(sizes, sizes.resolved(number))
        if str(kind) == "index":
            return found
        return ir.Operation.create("arith.index_cast", results=[kind], operands=[found]).results[0]


def built(sizes: Sizes, size: int) -> Any:
    """The index value of a size, computed where ops are put just now."""
    if not isinstance(size, Size):
        return constant_op(size, ir.IndexType.get())
    made = computed(size)
    if made is None:
        return sizes.values[str(size)]
    name, *parts = made
    lhs, rhs = (built(sizes, part) for part in parts)
    return arith_op(name, lhs, rhs)


def arith_op(name: str, one: Any, other: Any) -> Any:
    """The result of a new op of two values of one type, put where ops are put just now."""
    made = ir.Operation.create(f"arith.{name}", results=[one.type], operands=[one, other])
    return made.results[0]


def constant_op(number: int, kind: Any) -> Any:
    """A new constant of an integer type, put where ops are put just now."""
    attributes = {"value": ir.IntegerAttr.get(kind, number)}
    return ir.Operation.create("arith.constant", results=[kind], attributes=attributes).results[0]


def _range(assumptions: Sequence[str]) -> tuple[int, int, int]:
    """The least, the largest and the common divisor of ``#util.int.assumption<..>``s."""
    ends = [dict(_STATED.findall(text)) for text in assumptions]
    low = min((int(e.get("umin", 0)) for e in ends), default=0)
    high = max((int(e.get("umax", MOST)) for e in ends), default=MOST)
    return low, high, math.gcd(*(int(e.get("udiv", 1)) for e in ends)) or 1


_STATED = re.compile(r"(umin|umax|udiv) = (\d+)")
