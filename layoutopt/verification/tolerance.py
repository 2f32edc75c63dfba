"""How far results may differ where only the order of roundings does.

A sum of n terms in a type with unit roundoff u is off by about u sqrt(n) of its size where
roundings are independent (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section
2.8); errors of ops one after another add up as variances. What is allowed is some standard
deviations of the worst path through the function.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from layoutopt.ir.concrete import concrete
from layoutopt.ir.extension import Extension
from layoutopt.ir.graph import Graph, Op, Structured
from layoutopt.ir.scalar import Body
from layoutopt.ir.types import TensorType, roundoff

_QUANTIZED = 2.0**-8
"""A step of an 8-bit quantization: what a result moves by where a rounding is tipped over."""
_DEVIATIONS = 8.0
"""Standard deviations that are allowed: five are to be seen among a million results, and a
cancellation makes more of them."""
_WINOGRAD = 1e-3
"""What Winograd's transforms in f32 may lose."""
_MOST = 0.5
"""More than that is not agreement for any type."""
_TO_INTEGER = ("arith.fptosi", "arith.fptoui")


@dataclass(frozen=True, slots=True)
class Rounding:
    """What roundings may do inside a function."""

    variance: float = 0.0
    """Of the worst result, relative to its size."""
    steps: bool = False
    """Whether floats are rounded to integers: those may be off by one."""

    def tolerance(self, exact: bool) -> float:
        """What is allowed, relative to the size of a result; 0 where there is no float.

        ``exact``: no form may round in another way, only in another order.
        """
        if not self.variance:
            return 0.0
        allowed = _DEVIATIONS * math.sqrt(self.variance)
        return min(_MOST, allowed if exact else max(_WINOGRAD, allowed))


def rounding_of(graphs: Sequence[Graph], runs: Sequence[int] = ()) -> Rounding:
    """The roundings of functions that call one another, and of the blocks of control flow.

    ``runs``: how often each of them runs; once by default.
    """
    found = tuple(_rounding(concrete(graph)) for graph in graphs)
    times = runs or (1,) * len(found)
    variance = sum(n * r.variance for n, r in zip(times, found, strict=True))
    return Rounding(variance, any(r.steps for r in found))


def _rounding(graph: Graph) -> Rounding:
    variance = [_roundoff(kind.element) ** 2 for kind in graph.types]
    steps = False
    for op in graph.ops:
        before = max((variance[t] for t in op.inputs), default=0.0)
        own = _variance(op, graph.types)
        steps = steps or _rounds_to_integers(op)
        for tensor in op.outputs:
            variance[tensor] = max(variance[tensor], before + own)
    return Rounding(max(variance, default=0.0), steps)


def _variance(op: Op, types: Sequence[TensorType]) -> float:
    if isinstance(op, Extension):
        return max(_roundoff(types[t].element) for t in op.results) ** 2 * op.terms(types)
    if not isinstance(op, Structured):
        return 0.0
    terms = math.prod(op.domain[d] for d in op.reduction_dims)
    sums = max(map(_roundoff, op.body.arguments[len(op.sources) :]), default=0.0)
    step = _QUANTIZED**2 if _rounds_to_integers(op) else 0.0
    return sums**2 * terms + _coarsest(op.body) ** 2 + step


def _coarsest(body: Body) -> float:
    return max(map(_roundoff, (*body.arguments, *(op.type for op in body.ops))), default=0.0)


def _rounds_to_integers(op: Op) -> bool:
    return isinstance(op, Structured) and any(o.name in _TO_INTEGER for o in op.body.ops)


def _roundoff(element: str) -> float:
    return roundoff(element) or 0.0
