"""Round to the nearest whole number, ties to even, by adding 2^23 and taking it off again.

    roundeven(x)   ->   copysign(|x| < 2^23 ? (|x| + 2^23) - 2^23 : |x|, x)

Floats of 32 bits from 2^23 on are whole, so that the sum is rounded to a whole number, to the
nearest one and ties to even; the difference is exact. Equal to the last bit: numbers that are
whole already, infinite or NaN go by, and -0.25 gives -0. IREE 3.13 makes about twenty
operations on integers of ``math.roundeven`` for every CPU, and QuantizeLinear rounds each
element: half of its time. Source: ``s_rint.c`` of fdlibm (Sun Microsystems, 1993).
"""

from __future__ import annotations

from dataclasses import replace

from layoutopt.ir.graph import Graph
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import ScalarOp, scalar_constant
from layoutopt.normalize.examples import function_example
from layoutopt.normalize.spelled_out import Spelled, op_that_computes, spelled_out
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression

_ROUND = "math.roundeven"
_FLOAT = "f32"
_WHOLE = "8388608.0 : f32"
"""2^23: from here on floats are whole."""
_LESS = (("predicate", "4 : i64"),)
"""Ordered, less than: false for NaN."""


class RoundByAdding:
    """Rounding by the rounding of a sum."""

    name = "round-by-adding"
    summary = "roundeven of f32 -> 2^23 added and taken off"
    argument = "a sum of f32 at or above 2^23 is rounded to a whole number, ties to even"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.BIT_EXACT
    part = "rounding"
    examples = (
        Example(function_example(_ROUND, "f32"), 0),
        Example(
            function_example(_ROUND, "f16"),
            0,
            refusal="expected rounding in f32, which no compiler widens, but got f16",
        ),
    )

    def match(self, graph: Graph, op: int) -> Spelled | None:
        """An op whose body rounds to the nearest whole number."""
        return op_that_computes(_ROUND, graph, op)

    def guard(self, match: Spelled) -> Refusal | None:
        """In another type 2^23 is another number, and sums may be rounded in a longer one."""
        other = match.other_than(_FLOAT)
        if other is None:
            return None
        return Refusal(f"expected rounding in {_FLOAT}, which no compiler widens, but got {other}")

    def exactness_of(self, match: Spelled) -> Exactness:
        """The same numbers."""
        return self.exactness

    def rewrite(self, graph: Graph, match: Spelled) -> Expression:
        """The same op with another body."""
        body = spelled_out(match.op.body, _ROUND, _rounded)
        return Expression((), (replace(match.op, body=body),))


def _rounded(value: int, first: int, element: str) -> list[ScalarOp]:
    """``value``: what is rounded; ``first``: the number of the first op."""
    whole, magnitude, above, nearest, short, found = range(first, first + 6)
    return [
        scalar_constant(_WHOLE, element),
        ScalarOp("math.absf", (value,), element),
        ScalarOp("arith.addf", (magnitude, whole), element),
        ScalarOp("arith.subf", (above, whole), element),
        ScalarOp("arith.cmpf", (magnitude, whole), "i1", _LESS),
        ScalarOp("arith.select", (short, nearest, magnitude), element),
        ScalarOp("math.copysign", (found, value), element),
    ]
