"""Fold broadcasts into the ops that read them.

    f(broadcast(x))   ->   f(x)       read through the broadcast's map

Always as good: the op reads less memory, and a broadcast constant is not spread out at compile
time. Sound because reading element i of a broadcast is reading element map(i) of its source.
"""

from __future__ import annotations

from dataclasses import replace

from layoutopt.ir.affine import Affine, IndexMap, affine, loops_with_a_size, plain_dims
from layoutopt.ir.graph import Graph, Op, Structured


def fold_broadcasts(graph: Graph) -> Graph:
    """The same graph where structured ops read through broadcasts; those nobody reads go."""
    through: dict[int, tuple[int, IndexMap]] = {}
    ops: list[Op] = []
    for op in graph.ops:
        if not isinstance(op, Structured):
            ops.append(op)
            continue
        read = _reading_through(op, through)
        found = _broadcast(read, graph)
        if found is not None:
            through[read.results[0]] = found
        ops.append(read)
    needed = set(graph.outputs)
    kept: list[bool] = []
    for op in reversed(ops):
        live = (
            not op.outputs
            or any(t in needed for t in op.outputs)
            or not (isinstance(op, Structured) and op.results[0] in through)
        )
        kept.append(live)
        if live:
            needed.update(op.inputs)
    keep = kept[::-1]
    names = [n for n, live in zip(graph.names, keep, strict=True) if live] if graph.names else []
    return replace(
        graph, ops=tuple(o for o, live in zip(ops, keep, strict=True) if live), names=tuple(names)
    )


def _broadcast(op: Structured, graph: Graph) -> tuple[int, IndexMap] | None:
    """The source of a broadcast, and where element (r0, r1, ..) of the result is read from it."""
    if not op.is_copy or len(op.maps) != 2:
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
    changed = replace(op, sources=tuple(sources), maps=tuple(maps))
    sized = len(loops_with_a_size(changed.maps)) == len(changed.domain)
    return changed if sized else op


def _composed(form: Affine, outer: IndexMap) -> Affine:
    terms = [(d, c * k) for axis, c in form.terms for d, k in outer[axis].terms]
    offset = form.offset + sum(c * outer[axis].offset for axis, c in form.terms)
    return affine(terms, offset)
