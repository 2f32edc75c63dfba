"""Drop results that nobody reads, and what only they need.

    max, index = reduce(x)      ->      max = reduce(x)        where nobody reads the index

An op of which no result is read goes as a whole: exporters leave such ops behind, and what nothing
demands can have no price.

Importers write a softmax with the place of each maximum, which ties it to the order of its loops.
Sound where no result that stays is computed from an accumulator that goes.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace

from layoutopt.ir.graph import Constant, Graph, Op, Opaque, Structured
from layoutopt.ir.scalar import Body


def without_unread(graph: Graph) -> Graph:
    """The same graph with only the ops and results that somebody reads.

    Constants, and ops that the graph cannot see through, stay in any case.
    """
    read = set(graph.outputs)
    kept: list[tuple[Op, str]] = []
    for index in reversed(range(len(graph.ops))):
        op: Op | None = _needed_part(graph.ops[index], read)
        if op is not None:
            kept.append((op, graph.name_of(index)))
            read.update(op.inputs)
    ops, names = zip(*reversed(kept), strict=True) if kept else ((), ())
    return replace(graph, ops=ops, names=names)


def _needed_part(op: Op, read: Set[int]) -> Op | None:
    """The op as far as some of the tensors ``read`` need it."""
    if isinstance(op, Constant | Opaque):
        return op
    kept = [i for i, t in enumerate(op.outputs) if t in read]
    if not kept:
        return None
    if isinstance(op, Structured) and len(kept) < len(op.outputs):
        return _narrowed(op, kept) or op
    return op


def _narrowed(op: Structured, kept: list[int]) -> Structured | None:
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
