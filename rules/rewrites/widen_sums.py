"""Sums of products of narrow floats are kept in f32, and rounded once.

    contraction(x : bf16, w : bf16) -> bf16   ->   narrow(contraction(x, w) -> f32)

The contraction as it came rounds each product and each sum. Matrix instructions of GPUs, and those
of processors, sum in f32: IREE 3.13 compiles no matmul or convolution for gfx950 that sums in f16
or bf16, as StableHLO writes them. Sound because both are the sum of the same products in real
numbers; the one in f32 has fewer roundings.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from layoutopt.ir.graph import Fill, FromTensor, Graph, GraphBuilder, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import contraction_body, is_exact_contraction
from layoutopt.ir.types import TensorType, is_float
from layoutopt.oracle.constant import constant
from layoutopt.rules.rewrites.cast import narrowed, widened
from layoutopt.rules.rewrites.examples import matmul_example
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression

_NARROW, _WIDE = ("f16", "bf16"), "f32"


@dataclass(frozen=True, slots=True)
class NarrowSums:
    """A contraction of floats, and the narrow type that it sums in."""

    op: Structured
    summed: str


class WidenSums:
    """Contraction summed in f16 or bf16 -> contraction summed in f32, rounded at its end."""

    name = "widen-sums"
    summary = "contraction that sums in f16 or bf16 -> contraction that sums in f32, rounded once"
    argument = "the same sum of products in real numbers, with fewer roundings"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.APPROXIMATES
    canonicalizes = False
    examples = (
        Example(matmul_example("bf16", "bf16"), 0),
        Example(matmul_example("f16", "f16", accumulates=True), 0),
        Example(
            matmul_example("f8E4M3FN", "f8E4M3FN"),
            0,
            refusal="expected sums in f16 or bf16, but got f8E4M3FN",
        ),
    )

    def match(self, graph: Graph, op: int) -> NarrowSums | None:
        """A contraction whose result is narrower than f32."""
        found = graph.ops[op]
        if not isinstance(found, Structured) or not found.is_contraction:
            return None
        kind = graph.types[found.results[0]]
        if not is_float(kind.element) or kind.element in (_WIDE, "f64"):
            return None
        return NarrowSums(found, kind.element) if is_exact_contraction(found.body) else None

    def guard(self, match: NarrowSums) -> Refusal | None:
        """Sums of types that matrix instructions make of sums in f32."""
        if match.summed in _NARROW:
            return None
        return Refusal(f"expected sums in {' or '.join(_NARROW)}, but got {match.summed}")

    def rewrite(self, graph: Graph, match: NarrowSums) -> Expression:
        """The contraction in f32, from a widened init, and its result rounded."""
        builder = GraphBuilder(len(graph.types))
        op, kind = match.op, graph.types[match.op.results[0]]
        init = op.inits[0]
        if isinstance(init, Fill):
            init = Fill(_widened(init.value, match.summed))
        elif isinstance(init, FromTensor):
            wide_init = builder.tensor(kind.shape, _WIDE)
            builder.add(widened(kind, init.tensor, wide_init, _WIDE))
            init = FromTensor(wide_init)
        wide = builder.tensor(kind.shape, _WIDE)
        lhs, rhs = (graph.types[t].element for t in op.sources)
        body = contraction_body(lhs, rhs, _WIDE)
        builder.add(replace(op, inits=(init,), results=(wide,), body=body))
        builder.add(narrowed(TensorType(kind.shape, _WIDE), wide, op.results[0], match.summed))
        return Expression(tuple(builder.types), tuple(builder.ops))


def _widened(text: str, element: str) -> str:
    """The same number in f32: text may be bits, or be rounded as it is read."""
    value = constant(text, element)
    assert value is not None  # a float that NumPy knows, by the guard
    wide = np.asarray(value, np.float32)
    if np.isfinite(wide):
        return f"{float(wide):.9e} : {_WIDE}"
    return f"0x{int(wide.view(np.uint32)):08X} : {_WIDE}"
