"""Drop results that are not read, and what only they need.

    max, index = reduce(x)      ->      max = reduce(x)        where the index is not read

An op of which no result is read goes as a whole: exporters leave such ops behind, compilers drop
them, and what nothing demands can have no price. So this alone is done to the model as it came too.

Importers write a softmax with the place of each maximum, which ties it to the order of its loops.
Sound where no result that stays is computed from an accumulator that goes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.graph import Constant, Graph, Op, Opaque, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body
from layoutopt.normalize.examples import two_results_example
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class DeadResults:
    """An op with results that are not read, and the places of the others."""

    op: Op
    kept: tuple[int, ...]
    narrowed: Structured | None
    """The op with the others alone; None where they depend on what goes."""


class DropDeadResults:
    """Results, and whole ops, that are not read."""

    name = "drop-dead-results"
    summary = "op with results that are not read -> the op without them, or nothing"
    argument = "what is not read changes nothing; the results that stay keep their scalar ops"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.BIT_EXACT
    part = "read"
    examples = (
        Example(two_results_example(), 0),
        Example(
            two_results_example(entangled=True),
            0,
            refusal="expected results that do not depend on one that is not read, but one does",
        ),
    )

    def match(self, graph: Graph, op: int) -> DeadResults | None:
        """Some results are dead. Constants, and ops that the graph does not see through, stay."""
        found = graph.ops[op]
        if isinstance(found, Constant | Opaque):
            return None
        kept = tuple(
            i for i, t in enumerate(found.outputs) if graph.consumers[t] or t in graph.outputs
        )
        if len(kept) == len(found.outputs) or (kept and not isinstance(found, Structured)):
            return None
        narrowed = _narrowed(found, kept) if kept and isinstance(found, Structured) else None
        return DeadResults(found, kept, narrowed)

    def guard(self, match: DeadResults) -> Refusal | None:
        """What stays is computed from what stays."""
        if not match.kept or match.narrowed is not None:
            return None
        return Refusal("expected results that do not depend on one that is not read, but one does")

    def exactness_of(self, match: DeadResults) -> Exactness:
        """The same scalar ops run."""
        return self.exactness

    def rewrite(self, graph: Graph, match: DeadResults) -> Expression:
        """The op as far as it is read."""
        return Expression((), () if match.narrowed is None else (match.narrowed,))


def _narrowed(op: Structured, kept: tuple[int, ...]) -> Structured | None:
    """The op with the results ``kept``; None where they depend on the others."""
    first = len(op.sources)
    body = _needed(replace(op.body, yields=tuple(op.body.yields[i] for i in kept)))
    gone = [first + i for i in range(len(op.results)) if i not in kept]
    if any(body.used(argument) for argument in gone):
        return None
    stay = [a for a in range(len(body.arguments)) if a not in gone]
    number = {old: new for new, old in enumerate(stay)}
    for i in range(len(body.ops)):
        number[len(body.arguments) + i] = len(stay) + i
    return replace(
        op,
        inits=tuple(op.inits[i] for i in kept),
        results=tuple(op.results[i] for i in kept),
        maps=tuple(op.maps[a] for a in stay),
        body=_renumbered(replace(body, arguments=tuple(body.arguments[a] for a in stay)), number),
    )


def _needed(body: Body) -> Body:
    """The body without ops that no yield depends on."""
    first = len(body.arguments)
    needed = set(body.yields)
    for i in range(len(body.ops) - 1, -1, -1):
        if first + i in needed:
            needed.update(body.ops[i].operands)
    kept = [i for i in range(len(body.ops)) if first + i in needed]
    number = {a: a for a in range(first)} | {first + i: first + n for n, i in enumerate(kept)}
    return _renumbered(replace(body, ops=tuple(body.ops[i] for i in kept)), number)


def _renumbered(body: Body, number: dict[int, int]) -> Body:
    ops = (replace(op, operands=tuple(number[v] for v in op.operands)) for op in body.ops)
    return replace(body, ops=tuple(ops), yields=tuple(number[v] for v in body.yields))
