"""Read through broadcasts.

    f(broadcast(x))   ->   f(x)       read through the broadcast's map

The op reads less memory, and a broadcast constant is not spread out at compile time. Sound because
reading element i of a broadcast is reading element map(i) of its source. A broadcast that no op
reads any more goes with `layoutopt.normalize.drop_dead_results`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.affine import Affine, IndexMap, affine, loops_with_a_size, plain_dims
from layoutopt.ir.graph import Graph, Op, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.normalize.examples import broadcast_example
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class BroadcastRead:
    """An op that reads broadcasts, and the same op over their sources."""

    op: Structured
    through: Structured


class FoldBroadcast:
    """A broadcast as a map of its readers."""

    name = "fold-broadcast"
    summary = "op over a broadcast -> op over its source, read through the broadcast's map"
    argument = "element i of a broadcast is element map(i) of its source"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.BIT_EXACT
    part = "through"
    examples = (
        Example(broadcast_example(), 1),
        Example(
            broadcast_example(without_input=True),
            1,
            refusal="expected every loop to be one dim of an operand, for linalg takes its size "
            "from there, but loop 0 is not",
        ),
    )

    def match(self, graph: Graph, op: int) -> BroadcastRead | None:
        """A structured op with broadcasts among its sources."""
        found = graph.ops[op]
        if not isinstance(found, Structured):
            return None
        known = {t: b for t in found.sources if (b := _source(graph, t)) is not None}
        return BroadcastRead(found, _reading_through(found, known)) if known else None

    def guard(self, match: BroadcastRead) -> Refusal | None:
        """Loops keep their sizes."""
        sized = loops_with_a_size(match.through.maps)
        lost = next((d for d in range(len(match.op.domain)) if d not in sized), None)
        if lost is None:
            return None
        return Refusal(
            "expected every loop to be one dim of an operand, for linalg takes its size from "
            f"there, but loop {lost} is not"
        )

    def exactness_of(self, match: BroadcastRead) -> Exactness:
        """The same numbers are read."""
        return self.exactness

    def rewrite(self, graph: Graph, match: BroadcastRead) -> Expression:
        """The same op over other tensors."""
        return Expression((), (match.through,))


def _source(graph: Graph, tensor: int) -> tuple[int, IndexMap] | None:
    """The source of a broadcast, and where element (r0, r1, ..) of the result is read from it."""
    makers = graph.producers[tensor]
    return _broadcast(graph.ops[makers[0]], graph) if len(makers) == 1 else None


def _broadcast(op: Op, graph: Graph) -> tuple[int, IndexMap] | None:
    if not isinstance(op, Structured) or not op.is_copy or len(op.maps) != 2:
        return None
    result = plain_dims(op.result_maps[0])
    if result is None or sorted(result) != list(range(len(op.domain))):
        return None
    source = op.source_maps[0]
    if any(form.plain_dim is None and form.dims for form in source):
        return None
    if graph.types[op.sources[0]].elements >= graph.types[op.results[0]].elements and len(
        source
    ) >= len(result):
        return None
    place = {loop: axis for axis, loop in enumerate(result)}
    return op.sources[0], tuple(form.renamed(place) for form in source)


def _reading_through(op: Structured, through: dict[int, tuple[int, IndexMap]]) -> Structured:
    sources = list(op.sources)
    maps = list(op.maps)
    for position, tensor in enumerate(op.sources):
        if tensor not in through:
            continue
        sources[position], inner = through[tensor]
        maps[position] = tuple(_composed(form, maps[position]) for form in inner)
    return replace(op, sources=tuple(sources), maps=tuple(maps))


def _composed(form: Affine, outer: IndexMap) -> Affine:
    terms = [(d, c * k) for axis, c in form.terms for d, k in outer[axis].terms]
    offset = form.offset + sum(c * outer[axis].offset for axis, c in form.terms)
    return affine(terms, offset)
