"""Shape assertions, as `jax.export` writes them: checked at run time, and learned from.

    %0 = get_dimension_size %x, dim = 0
    custom_call @shape_assertion(compare GE %0, 1) {error_message = "Expected .."}
      ->
    %d = tensor.dim %x, 0; %0 = util.assume.int %d<umin = 1>
    cf.assert (%d >= 1), "Expected .."

The check reads the size as it comes: one of at least 1 would be at least 1 to the compiler.
"""

from __future__ import annotations

import math
import re
from typing import Any

from iree.compiler import ir

from layoutopt.ir.size import MOST, Quotient, Size, bounds, one_symbol, symbol, symbols
from layoutopt.mlir.read.sizes import Sizes, built, divide
from layoutopt.mlir.stablehlo.building import ahead, arith, constant, made
from layoutopt.mlir.stablehlo.numbers import Numbers
from layoutopt.mlir.write.assumed import assumption

_MESSAGE = re.compile(r"(, but found \{\d+\})?\.?\s+Using the following polymorphic.*", re.DOTALL)
"""The end of a message of `jax.export`: which numbers were found, and where."""
_EQ, _LT, _LE, _GT, _GE = 0, 2, 3, 4, 5


class Assertions:
    """What a function states of the sizes of its arguments."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self._checked: dict[str, Any] = {}
        """By symbol its value as it comes, which no statement is made of."""
        self._assumed: list[tuple[str, Any, Any]] = []
        """Name, value as it comes, op that states the range."""

    def stated(self, argument: Any, dim: int, name: str) -> int:
        """The size of a dim of an argument, a new symbol, where ops are put just now."""
        index = ir.IndexType.get()
        found = made("tensor.dim", [argument, constant(dim, index)], index)
        assumed = ir.Operation.create(
            "util.assume.int",
            results=[index],
            operands=[found],
            attributes={"assumptions": assumption(0, MOST, 1)},
        )
        self._checked[name] = found
        self._assumed.append((name, found, assumed))
        return self.sizes.name(name, symbol, assumed.results[0], 0)

    def take(self, op: Any, numbers: Numbers, learn: bool) -> None:
        """Check at run time what an op asserts; ``learn``: nothing runs where it does not hold."""
        condition = op.operands[0]
        known = numbers.known(condition, 0)
        if known is not True:
            self._check(op, numbers)
            if learn:
                self._learn(condition, numbers)
        op.erase()

    def finish(self) -> None:
        """Write down the ranges that were learned."""
        for name, found, assumed in self._assumed:
            low, high, divisor = self._range(name)
            if (low, high, divisor) == (0, MOST, 1):
                assumed.results[0].replace_all_uses_with(found)
                assumed.erase()
            else:
                with assumed.context:
                    assumed.attributes["assumptions"] = assumption(low, high, divisor)

    def _range(self, name: str) -> tuple[int, int, int]:
        size = self.sizes.resolved(Size(((((_symbol(name)),), 1),)))
        low, high = bounds(size)
        if not isinstance(size, Size):
            return size, size, 1
        divisor = math.gcd(*(c for _, c in size.terms))
        return int(low), MOST if high + divisor > MOST else int(high), divisor

    def _check(self, op: Any, numbers: Numbers) -> None:
        condition = op.operands[0]
        kind = condition.type.element_type
        held = self._compared(condition, numbers)
        with ahead(op):
            if held is None:
                value = made("tensor.extract", [condition], kind)
            else:
                checked = self.sizes.copied()
                checked.values |= self._checked
                sides = [built(checked, n) for n in held]
                i64 = ir.IntegerType.get_signless(64)
                predicate = ir.IntegerAttr.get(i64, numbers.direction(condition.owner))
                value = made("arith.cmpi", sides, kind, predicate=predicate)
            message = {"msg": ir.StringAttr.get(_message(op))}
            ir.Operation.create("cf.assert", operands=[value], attributes=message)

    def _compared(self, condition: Any, numbers: Numbers) -> list[int] | None:
        """The two numbers that a condition compares; None where it is another one."""
        owner = condition.owner
        if isinstance(owner, ir.Block) or owner.name != "stablehlo.compare":
            return None
        held = [numbers.known(v, 0) for v in owner.operands]
        known = [n for n in held if n is not None and not isinstance(n, bool)]
        return known if len(known) == len(held) else None

    def _learn(self, condition: Any, numbers: Numbers) -> None:
        held = self._compared(condition, numbers)
        if held is None:
            return
        one, other = held
        gap: int = one - other
        direction = numbers.direction(condition.owner)
        if direction == _EQ:
            self._learn_zero(gap, one, other)
        elif direction in (_GT, _GE):
            self._learn_natural(gap - (direction == _GT))
        elif direction in (_LT, _LE):
            self._learn_natural(-gap - (direction == _LT))

    def _learn_natural(self, size: int) -> None:
        """Learn that a size is not negative."""
        high = int(bounds(size)[1])
        self.sizes.narrow(size, 0, high)
        self.sizes.narrow(-size, -high, 0)

    def _learn_zero(self, gap: int, one: int, other: int) -> None:
        for side in (gap, -gap):
            whole = _multiple(side)
            if whole is None:
                continue
            ((name,), divisor) = [s.name for s in symbols(whole[0])], whole[1]
            before = set(self.sizes.values)
            divide(self.sizes, whole[0], divisor)
            for part in self.sizes.values.keys() - before:
                self._check_part(part, name, divisor)
            return
        self.sizes.unify(one, other)

    def _check_part(self, part: str, whole: str, divisor: int) -> None:
        value = self._checked[whole]
        with ir.InsertionPoint.after(value.owner), value.owner.location:
            index = ir.IndexType.get()
            self._checked[part] = arith("arith.divui", value, constant(divisor, index))


def _multiple(size: int) -> tuple[int, int] | None:
    """``x`` and ``k`` where a size is ``x - k * (x floordiv k)`` of one symbol x."""
    if not isinstance(size, Size):
        return None
    for monomial, coefficient in size.terms:
        (atom, *others) = monomial or (None,)
        if isinstance(atom, Quotient) and not others and coefficient == -atom.divisor:
            whole = atom.dividend
            quotient = Size((((atom,), 1),))
            if size == whole - atom.divisor * quotient and _is_symbol(whole):
                return whole, atom.divisor
    return None


def _is_symbol(size: int) -> bool:
    found = symbols(size)
    return len(found) == 1 and size == one_symbol(found[0])


def _symbol(name: str) -> Any:
    (found,) = symbols(symbol(name))
    return found


def _message(op: Any) -> str:
    if "error_message" not in op.attributes:
        return "shape assertion"
    text = str(ir.StringAttr(op.attributes["error_message"]).value)
    return _MESSAGE.sub("", text)
