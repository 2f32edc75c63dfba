"""The error function as a quotient of two polynomials.

    erf(x)   ->   x p(x^2) / q(x^2)   with x between -3.75 and 3.75

erf is odd, and from 3.75 on it is 1 but for 1.2e-7, two spacings of floats of 32 bits. Both
polynomials have degree five; the quotient is the one whose largest relative error is least there
(1e-8, by Lawson's weighted least squares), so what it differs by is the rounding of the steps:
3.3e-7. NaN stays NaN. IREE 3.13 takes one of four pieces for each number, with all coefficients
chosen by comparisons: 40 ops, 21 of them choices; 2.8 ns a number where this takes 1.2 (AVX2).
Source: Cody, Rational Chebyshev Approximations for the Error Function (Mathematics of Computation,
1969).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from layoutopt.ir.graph import Graph
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import ScalarOp, scalar_constant
from layoutopt.normalize.examples import function_example
from layoutopt.normalize.spelled_out import Spelled, op_that_computes, spelled_out
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression

_ERF = "math.erf"
_FLOAT = "f32"
_NARROW = ("f16", "bf16")
"""Widened and rounded back, as compilers do."""
_ONE_FROM = 3.75
"""The result is 1 from here on."""
_NUMERATOR = (
    2.194517649e-06,
    2.875410137e-04,
    3.561552370e-03,
    5.216031231e-02,
    1.847198549e-01,
    1.128379156e00,
)
"""Coefficients, the highest power of x^2 first."""
_DENOMINATOR = (
    3.971118931e-05,
    1.126086789e-03,
    1.456093966e-02,
    1.119064228e-01,
    4.970367338e-01,
    1.0,
)
_GREATER, _LESS = ((("predicate", f"{number} : i64"),) for number in (2, 4))
"""Ordered: false for NaN, which so stays."""


class ErfByDivision:
    """The error function by one formula for all numbers."""

    name = "erf-by-division"
    summary = "erf of f32, f16 or bf16 -> a quotient of two polynomials in f32"
    argument = "the polynomials are fitted to erf: relative error 1e-8 before rounding"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.APPROXIMATES
    part = "erf"
    examples = (
        Example(function_example(_ERF, "f32"), 0),
        Example(
            function_example(_ERF, "f64"),
            0,
            refusal="expected erf of f32 or narrower, for which the polynomials are, but got f64",
        ),
    )

    def match(self, graph: Graph, op: int) -> Spelled | None:
        """An op whose body computes erf."""
        return op_that_computes(_ERF, graph, op)

    def guard(self, match: Spelled) -> Refusal | None:
        """Longer floats need other polynomials."""
        other = match.other_than(_FLOAT, *_NARROW)
        if other is None:
            return None
        return Refusal(
            f"expected erf of {_FLOAT} or narrower, for which the polynomials are, but got {other}"
        )

    def exactness_of(self, match: Spelled) -> Exactness:
        """Other operations."""
        return self.exactness

    def rewrite(self, graph: Graph, match: Spelled) -> Expression:
        """The same op with another body."""
        body = spelled_out(match.op.body, _ERF, _quotient)
        return Expression((), (replace(match.op, body=body),), rounds=True)


def _quotient(value: int, first: int, element: str) -> list[ScalarOp]:
    ops: list[ScalarOp] = []

    def add(op: ScalarOp) -> int:
        ops.append(op)
        return first + len(ops) - 1

    def number(value: float) -> int:
        return add(scalar_constant(f"{value:.9e} : {_FLOAT}", _FLOAT))

    def compute(name: str, *operands: int) -> int:
        return add(ScalarOp(name, operands, _FLOAT))

    def limited(value: int, limit: float, beyond: tuple[tuple[str, str], ...]) -> int:
        most = number(limit)
        return compute(
            "arith.select", add(ScalarOp("arith.cmpf", (value, most), "i1", beyond)), most, value
        )

    def polynomial(coefficients: Iterable[float]) -> int:
        highest, *others = coefficients
        found = number(highest)
        for each in others:
            found = compute("math.fma", found, square, number(each))
        return found

    if element != _FLOAT:
        value = compute("arith.extf", value)
    x = limited(limited(value, _ONE_FROM, _GREATER), -_ONE_FROM, _LESS)
    square = compute("arith.mulf", x, x)
    numerator = compute("arith.mulf", x, polynomial(_NUMERATOR))
    found = compute("arith.divf", numerator, polynomial(_DENOMINATOR))
    if element != _FLOAT:
        add(ScalarOp("arith.truncf", (found,), element))
    return ops
