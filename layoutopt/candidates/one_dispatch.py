"""A contraction that has to be in a dispatch region, with what is computed from its sums in there.

    s = products of bytes;  y = f(s[m, n], b[n])
      ->
    region { s[m, N, v, n'] = ..;  y[m, N, v, n'] = f(s[m, N, v, n'], b[N, v, n']) }

Sums of a tile are read while they are in registers, and are not stored. What follows is one
elementwise op over the loops of the sums; where it is no such op, the region holds the contraction
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from layoutopt.candidates.matmul_form import reshaped
from layoutopt.candidates.one_op import ahead_of_reshapes, in_one_op
from layoutopt.ir.affine import plain_dims, plain_map
from layoutopt.ir.graph import (
    DispatchRegion,
    Graph,
    GraphBuilder,
    IteratorType,
    Op,
    Reshape,
    Structured,
)
from layoutopt.ir.reassociation import reassociation
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.size import Size

_MOST_OPS = 256
"""Scalar ops that are computed from one sum: as many of a kernel take little to what it does."""


def in_dispatch_regions(graph: Graph, contractions: Sequence[int]) -> Graph:
    """The graph with each of these ops in a region, the only one with what follows it."""
    if len(contractions) == 1:
        whole = _with_what_follows(graph, contractions[0])
        if whole is not None:
            return whole
    builder = GraphBuilder(len(graph.types))
    ops = list(graph.ops)
    for index in contractions:
        op = ops[index]
        inside = tuple(builder.tensor(*_shape_of(graph, t)) for t in op.outputs)
        assert isinstance(op, Structured)
        ops[index] = DispatchRegion((replace(op, results=inside),), inside, op.outputs)
    return replace(graph, types=(*graph.types, *builder.types), ops=tuple(ops))


def _shape_of(graph: Graph, tensor: int) -> tuple[tuple[int, ...], str]:
    kind = graph.types[tensor]
    return kind.shape, kind.element


def _with_what_follows(graph: Graph, index: int) -> Graph | None:
    """As much of it as can be: up to a tensor that all the rest reads the sums through.

    None where no elementwise op over the loops of the sums follows.
    """
    contraction = graph.ops[index]
    assert isinstance(contraction, Structured)
    (sums,) = contraction.results
    depending = {sums}
    after: list[Op] = []
    before: list[Op] = []
    for op in graph.ops:
        if op is contraction:
            continue
        follows = not depending.isdisjoint(op.inputs)
        (after if follows else before).append(op)
        depending.update(op.outputs if follows else ())
    for op in reversed(after):
        if isinstance(op, Structured) and len(op.results) == 1:
            inside = _needed(after, op.results[0])
            rest = [other for other in after if other not in inside]
            made = {sums, *(t for other in inside for t in other.outputs)} - {*op.results}
            if made.isdisjoint(t for other in rest for t in other.inputs) and (
                made.isdisjoint(graph.outputs)
            ):
                found = _joined(graph, contraction, inside, before)
                if found is not None:
                    return replace(found, ops=(*found.ops, *rest))
    return None


def _needed(ops: Sequence[Op], tensor: int) -> list[Op]:
    """Those of the ops that a tensor is computed by, in order."""
    wanted, found = {tensor}, []
    for op in reversed(ops):
        if not wanted.isdisjoint(op.outputs):
            found.append(op)
            wanted.update(op.inputs)
    return found[::-1]


def _joined(
    graph: Graph, contraction: Structured, after: Sequence[Op], before: Sequence[Op]
) -> Graph | None:
    """The graph with these ops ``after`` a contraction in its dispatch, and without the others."""
    (sums,), made = contraction.results, {t for op in after for t in op.outputs}
    read = dict.fromkeys(t for op in after for t in op.inputs if t not in made)
    part = Graph(graph.types, tuple(after), tuple(read), after[-1].outputs)
    one = in_one_op(part, _MOST_OPS)
    if isinstance(one, Refusal):
        return None
    (place,) = (i for i, op in enumerate(one.ops) if isinstance(op, Structured))
    follower = one.ops[place]
    assert isinstance(follower, Structured)
    builder = GraphBuilder(len(one.types))
    inside = builder.tensor(*_shape_of(graph, sums))
    found = _over_loops_of(follower, sums, inside, one, builder)
    if found is None:
        return None
    element = one.types[follower.results[0]].element
    given = builder.tensor(graph.types[sums].shape, element)
    together = (replace(contraction, results=(inside,)), found)
    region = DispatchRegion(together, found.results, (given,))
    ops = (
        *before,
        *(op for op in one.ops[:place] if ahead_of_reshapes(one, op.outputs[0]) != sums),
        *builder.ops,
        region,
        Reshape(given, follower.results[0]),
        *one.ops[place + 1 :],
    )
    return replace(graph, types=(*one.types, *builder.types), ops=ops, names=())


def _over_loops_of(
    op: Structured, sums: int, inside: int, graph: Graph, builder: GraphBuilder
) -> Structured | None:
    """An elementwise op over the dims of ``sums``, which it reads as ``inside``.

    None where its loops are no groups of these dims in order.
    """
    shape = graph.types[sums].shape
    loops = tuple(range(len(op.domain)))
    bases = [ahead_of_reshapes(graph, t) for t in op.sources]
    if bases.count(sums) != 1 or op.body.reads_index:
        return None
    own = bases.index(sums)
    if any(isinstance(n, Size) for n in (*shape, *op.domain)):
        return None
    same = op.domain == shape
    groups = [[d] for d in loops] if same else reassociation(op.domain, shape)
    if groups is None or plain_dims(op.maps[own]) != loops:
        return None
    places = [
        None if dims is None else [d for loop in dims for d in groups[loop]]
        for dims in map(plain_dims, op.maps)
    ]
    sources = []
    for i, (tensor, along) in enumerate(zip(op.sources, places, strict=False)):
        if along is None:
            return None
        if i == own:
            sources.append(inside)
        else:
            sources.append(reshaped(tensor, tuple(shape[d] for d in along), graph, builder))
    (result,), made = op.results, places[-1]
    if made != list(range(len(shape))):
        return None
    return replace(
        op,
        sources=tuple(sources),
        results=(builder.tensor(shape, graph.types[result].element),),
        domain=shape,
        iterators=(IteratorType.PARALLEL,) * len(shape),
        maps=tuple(plain_map(p) for p in places if p is not None),
    )
