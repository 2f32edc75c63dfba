"""Let a module check what it states of numbers, ahead of a plan that relies on it.

    %s = tensor.dim %x, 0
    %n = util.assume.int %s<udiv = 8>
      ->
    %s = tensor.dim %x, 0
    %r = remui %s, 8; cf.assert (%r == 0), "arg0.0: expected a multiple of 8, .."
    %n = util.assume.int %s<udiv = 8>

A call at another size ends with this message, and not with results that mean nothing.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from layoutopt.ir.size import MOST
from layoutopt.mlir.read.sizes import Assumption

_ASSERT = "cf.assert"
_EQ, _UGE, _ULE = 0, 9, 7
"""Predicates of ``arith.cmpi``."""


def assumption(low: int, high: int, divisor: int) -> Any:
    """The attribute of a ``util.assume.int`` of one number."""
    stated = [f"umin = {low}"] if low > 0 else []
    stated += [f"umax = {high}"] if high < MOST else []
    stated += [f"udiv = {divisor}"] if divisor > 1 else []
    return ir.Attribute.parse(f"[[#util.int.assumption<{', '.join(stated)}>]]")


def assume(value: Any, low: int, high: int, divisor: int) -> None:
    """State right behind the op that makes a number what is known of it."""
    with ir.InsertionPoint.after(value.owner), value.owner.location:
        stated = assumption(low, high, divisor)
        _made("util.assume.int", [value], value.type, assumptions=stated)


def check_assumption(stated: Assumption) -> None:
    """Put an assertion right behind the op that makes the number that something is stated of.

    The ops of a plan come ahead of the statement, for they need no more than the number.
    """
    op = stated.op
    value = op.operands[stated.position]
    owner = value.owner
    at_start = isinstance(owner, ir.Block)
    point = ir.InsertionPoint.at_block_begin(owner) if at_start else ir.InsertionPoint.after(owner)
    with point, op.location:
        tests = []
        if stated.divisor > 1:
            rest = _made("arith.remui", [value, _constant(stated.divisor, value.type)], value.type)
            tests.append(_compared(_EQ, rest, _constant(0, value.type)))
        if stated.low > 0:
            tests.append(_compared(_UGE, value, _constant(stated.low, value.type)))
        if stated.high < MOST:
            tests.append(_compared(_ULE, value, _constant(stated.high, value.type)))
        whole = tests[0]
        for test in tests[1:]:
            whole = _made("arith.andi", [whole, test], whole.type)
        message = {"msg": ir.StringAttr.get(str(stated))}
        ir.Operation.create(_ASSERT, operands=[whole], attributes=message)


def _compared(predicate: int, one: Any, other: Any) -> Any:
    kind = ir.IntegerType.get_signless(1)
    attribute = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), predicate)
    return _made("arith.cmpi", [one, other], kind, predicate=attribute)


def _constant(number: int, kind: Any) -> Any:
    return _made("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, number))


def _made(name: str, operands: list[Any], kind: Any, **attributes: Any) -> Any:
    made = ir.Operation.create(name, results=[kind], operands=operands, attributes=attributes)
    return made.results[0]
