"""Start from one value in place of a tensor that holds it everywhere.

    op(x) writing over splat   ->   op(x) writing over fill

A fill is a scalar that the dispatch spreads out itself. Sound because both hold the same value at
every place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.graph import Fill, FromTensor, Graph, Init, Pad, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.normalize.examples import padded_init_example
from layoutopt.rules.rewrites.interior_padding import splat_of, typed
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class SplatStart:
    """An op, the inits it could have, and two values that one of its inits holds."""

    op: Structured
    inits: tuple[Init, ...]
    several: tuple[str, str] | None


class SplatInitToFill:
    """A tensor of one value as a scalar."""

    name = "splat-init-to-fill"
    summary = "op whose init is a tensor of one value -> op whose init is the value"
    argument = "both inits hold the same value at every place"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.BIT_EXACT
    part = "init"
    examples = (
        Example(padded_init_example(around="2.0 : f32"), 2),
        Example(
            padded_init_example(around="1.0 : f32"),
            2,
            refusal="expected an init of one value, but a pad puts 1.0 : f32 around 2.0 : f32",
        ),
    )

    def match(self, graph: Graph, op: int) -> SplatStart | None:
        """An op whose init is a tensor made of splats alone."""
        found = graph.ops[op]
        if not isinstance(found, Structured):
            return None
        inits = tuple(_filled(graph, init) for init in found.inits)
        if inits != found.inits:
            return SplatStart(found, inits, None)
        padded = (_padded(graph, i.tensor) for i in inits if isinstance(i, FromTensor))
        several = next((values for values in padded if values is not None), None)
        return None if several is None else SplatStart(found, inits, several)

    def guard(self, match: SplatStart) -> Refusal | None:
        """One value."""
        if match.several is None:
            return None
        inner, around = match.several
        return Refusal(f"expected an init of one value, but a pad puts {around} around {inner}")

    def exactness_of(self, match: SplatStart) -> Exactness:
        """The same numbers."""
        return self.exactness

    def rewrite(self, graph: Graph, match: SplatStart) -> Expression:
        """The same op with fills."""
        return Expression((), (replace(match.op, inits=match.inits),))


def _filled(graph: Graph, init: Init) -> Init:
    """A tensor of one value as a fill."""
    if not isinstance(init, FromTensor):
        return init
    value = splat_of(graph, init.tensor)
    return init if value is None else Fill(typed(value, graph.types[init.tensor].element))


def _padded(graph: Graph, tensor: int) -> tuple[str, str] | None:
    """The value inside and the one around it of a padded splat, None where it is something else."""
    makers = [graph.ops[i] for i in graph.producers[tensor]]
    if len(makers) != 1 or not isinstance(makers[0], Pad):
        return None
    element = graph.types[tensor].element
    inner = splat_of(graph, makers[0].source)
    return None if inner is None else (typed(inner, element), typed(makers[0].value, element))
