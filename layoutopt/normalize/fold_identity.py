"""Read a tensor under its first name.

    op(reshape(x))   ->   op(x)        where the reshape changes nothing

What other rules take for the tensor itself they leave behind such a reshape; without it the op
behind shares a dispatch with the one ahead. Ops that stay in the module keep what they read, and so
does what is pinned to one dispatch.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.ir.graph import DispatchRegion, Graph, Op, Opaque, Reshape
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.renaming import renamed
from layoutopt.normalize.examples import renamed_example
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class RenamedRead:
    """An op, and the first names of what it reads under another one."""

    op: Op
    first_name: dict[int, int]


class FoldIdentity:
    """One name for one tensor."""

    name = "fold-identity"
    summary = "op over a reshape that changes nothing -> op over its source"
    argument = "both are one tensor"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.BIT_EXACT
    part = "read"
    examples = (
        Example(renamed_example(), 1),
        Example(
            renamed_example(in_region=True),
            1,
            refusal="expected one op, but got several that run as one dispatch",
        ),
    )

    def match(self, graph: Graph, op: int) -> RenamedRead | None:
        """An op that reads such a reshape and does not stay in the module as it is."""
        found = graph.ops[op]
        if isinstance(found, Opaque):
            return None
        names = {t: first for t in found.inputs if (first := _first(graph, t)) != t}
        return RenamedRead(found, names) if names else None

    def guard(self, match: RenamedRead) -> Refusal | None:
        """What stands in a region is pinned."""
        if not isinstance(match.op, DispatchRegion):
            return None
        return Refusal("expected one op, but got several that run as one dispatch")

    def exactness_of(self, match: RenamedRead) -> Exactness:
        """The same numbers."""
        return self.exactness

    def rewrite(self, graph: Graph, match: RenamedRead) -> Expression:
        """The same op over the first names."""
        return Expression((), (renamed(match.op, lambda t: match.first_name.get(t, t)),))


def _first(graph: Graph, tensor: int) -> int:
    while True:
        makers = graph.producers[tensor]
        op = graph.ops[makers[0]] if len(makers) == 1 else None
        if not isinstance(op, Reshape) or graph.types[op.source] != graph.types[tensor]:
            return tensor
        tensor = op.source
