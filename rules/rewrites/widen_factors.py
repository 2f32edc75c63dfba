"""Factors are widened to the type of the sum before the contraction, each element once.

    contraction(x : f16, w : f16) -> f32   ->   contraction(widen(x), widen(w)) -> f32

The contraction as it came widens an element each time it is multiplied, which takes longer than
the multiplication where a processor has no instruction for it; weights are widened ahead of time.
Sound because each number of the narrow type is one of the wide type, and the products and sums
are those of the wide type on both sides. Integers are left as they are: processors multiply
narrow ones in pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.graph import Graph, GraphBuilder, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import contraction_body, is_exact_contraction
from layoutopt.rules.rewrites.cast import widened
from layoutopt.rules.rewrites.examples import matmul_example
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression

_NARROW, _WIDE = ("f16", "bf16"), "f32"


@dataclass(frozen=True, slots=True)
class NarrowFactors:
    """A contraction of narrow floats, and the type of its sums."""

    op: Structured
    summed: str


class WidenFactors:
    """Contraction of f16 or bf16 summed in f32 -> contraction of f32."""

    name = "widen-factors"
    summary = "contraction that widens its factors -> widened factors, contracted in that type"
    argument = "a number of the narrow type is the same in the wide one; all else is as it was"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.BIT_EXACT
    canonicalizes = False
    examples = (
        Example(matmul_example("f16", "f32"), 0),
        Example(matmul_example("f16", "f16"), 0, refusal="expected sums in f32, but got f16"),
    )

    def match(self, graph: Graph, op: int) -> NarrowFactors | None:
        """A contraction of floats narrower than f32."""
        found = graph.ops[op]
        if not isinstance(found, Structured) or not found.is_contraction:
            return None
        if not is_exact_contraction(found.body):
            return None
        if not any(graph.types[t].element in _NARROW for t in found.sources):
            return None
        return NarrowFactors(found, graph.types[found.results[0]].element)

    def guard(self, match: NarrowFactors) -> Refusal | None:
        """The body must widen what is narrow."""
        if match.summed == _WIDE:
            return None
        return Refusal(f"expected sums in {_WIDE}, but got {match.summed}")

    def rewrite(self, graph: Graph, match: NarrowFactors) -> Expression:
        """Widen each narrow factor, by an op that is there already where one is."""
        builder = GraphBuilder(len(graph.types))
        wide = {t: _widened(graph, builder, t) for t in dict.fromkeys(match.op.sources)}
        sources = tuple(wide[t] for t in match.op.sources)
        body = contraction_body(_WIDE, _WIDE, _WIDE)
        builder.add(replace(match.op, sources=sources, body=body))
        return Expression(tuple(builder.types), tuple(builder.ops))


def _widened(graph: Graph, builder: GraphBuilder, tensor: int) -> int:
    """A tensor in the wide type: itself, one that the graph has, or a new one."""
    kind = graph.types[tensor]
    if kind.element == _WIDE:
        return tensor
    ahead = tensor in graph.constants
    for consumer in graph.consumers[tensor]:
        op = graph.ops[consumer]
        if isinstance(op, Structured) and op == widened(kind, tensor, op.results[0], _WIDE, ahead):
            return op.results[0]
    result = builder.tensor(kind.shape, _WIDE)
    builder.add(widened(kind, tensor, result, _WIDE, ahead))
    return result
