"""Round to the nearest whole number, ties to even, by adding 2^23 and taking it off again.

    roundeven(x)   ->   copysign(|x| < 2^23 ? (|x| + 2^23) - 2^23 : |x|, x)

Floats of 32 bits from 2^23 on are whole, so that the sum is rounded to a whole number, to the
nearest one and ties to even; the difference is exact. Equal to the last bit: numbers that are
whole already, infinite or NaN go by, and -0.25 gives -0. IREE 3.13 makes about twenty
operations on integers of ``math.roundeven`` for every CPU, and QuantizeLinear rounds each
element: half of its time. Source: ``s_rint.c`` of fdlibm (Sun Microsystems, 1993).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.graph import Graph, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, scalar_constant
from layoutopt.normalize.examples import rounded_example
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression

_ROUND = "math.roundeven"
_FLOAT = "f32"
_WHOLE = "8388608.0 : f32"
"""2^23: from here on floats are whole."""
_LESS = (("predicate", "4 : i64"),)
"""Ordered, less than: false for NaN."""


@dataclass(frozen=True, slots=True)
class Rounding:
    """An op that rounds, and the element types that it does so in."""

    op: Structured
    elements: tuple[str, ...]


class RoundByAdding:
    """Rounding by the rounding of a sum."""

    name = "round-by-adding"
    summary = "roundeven of f32 -> 2^23 added and taken off"
    argument = "a sum of f32 at or above 2^23 is rounded to a whole number, ties to even"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.BIT_EXACT
    part = "rounding"
    examples = (
        Example(rounded_example("f32"), 0),
        Example(
            rounded_example("f16"),
            0,
            refusal="expected rounding in f32, which no compiler widens, but got f16",
        ),
    )

    def match(self, graph: Graph, op: int) -> Rounding | None:
        """An op whose body rounds to the nearest whole number."""
        found = graph.ops[op]
        if not isinstance(found, Structured):
            return None
        elements = tuple(step.type for step in found.body.ops if step.name == _ROUND)
        return Rounding(found, elements) if elements else None

    def guard(self, match: Rounding) -> Refusal | None:
        """In another type 2^23 is another number, and sums may be rounded in a longer one."""
        other = next((element for element in match.elements if element != _FLOAT), None)
        if other is None:
            return None
        return Refusal(f"expected rounding in {_FLOAT}, which no compiler widens, but got {other}")

    def exactness_of(self, match: Rounding) -> Exactness:
        """The same numbers."""
        return self.exactness

    def rewrite(self, graph: Graph, match: Rounding) -> Expression:
        """The same op with another body."""
        return Expression((), (replace(match.op, body=_by_adding(match.op.body)),))


def _by_adding(body: Body) -> Body:
    """The body with several ops in place of each rounding."""
    number = list(range(len(body.arguments)))
    ops: list[ScalarOp] = []
    for step in body.ops:
        operands = tuple(number[o] for o in step.operands)
        if step.name == _ROUND:
            ops += _rounded(operands[0], len(body.arguments) + len(ops))
        else:
            ops.append(replace(step, operands=operands))
        number.append(len(body.arguments) + len(ops) - 1)
    return Body(body.arguments, tuple(ops), tuple(number[y] for y in body.yields))


def _rounded(value: int, first: int) -> list[ScalarOp]:
    """``value``: what is rounded; ``first``: the number of the first op."""
    whole, magnitude, above, nearest, short, found = range(first, first + 6)
    return [
        scalar_constant(_WHOLE, _FLOAT),
        ScalarOp("math.absf", (value,), _FLOAT),
        ScalarOp("arith.addf", (magnitude, whole), _FLOAT),
        ScalarOp("arith.subf", (above, whole), _FLOAT),
        ScalarOp("arith.cmpf", (magnitude, whole), "i1", _LESS),
        ScalarOp("arith.select", (short, nearest, magnitude), _FLOAT),
        ScalarOp("math.copysign", (found, value), _FLOAT),
    ]
