"""Contractions over row-major tensors as the matmul that hides in them.

    y[n,h,w,f] += x[n,h,w,c] * w[c,f]
      ->
    reshape(matmul(reshape(x), w))        with m = (n,h,w)

Loops of size one go, loops that are adjacent in every operand merge; what is then a batch
matmul has a name that compilers are fast on. Sound because a reshape of row-major memory moves
nothing and merged loops visit the same points in the same order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from layoutopt.ir.affine import IndexMap, plain_dims, plain_map
from layoutopt.ir.graph import FromTensor, Graph, GraphBuilder, Init, Op, Reshape, Structured
from layoutopt.ir.scalar import is_exact_contraction
from layoutopt.ir.size import Size


def with_matmuls(graph: Graph, *, rows_apart: bool = False) -> Graph:
    """The graph with every pure contraction brought to its smallest form.

    ``rows_apart``: a loop of open size stays apart from one of known size behind it, for compilers
    make more of a loop whose size they know.
    """
    builder = GraphBuilder(len(graph.types))
    ops: list[Op] = []
    for op in graph.ops:
        before = len(builder.ops)
        if isinstance(op, Structured) and op.is_contraction and is_collapsible(op, graph):
            oriented = _oriented(op)
            collapse(oriented, _merged(oriented, rows_apart), graph, builder)
            ops += builder.ops[before:] or [oriented]
        else:
            ops.append(op)
    return Graph((*graph.types, *builder.types), tuple(ops), graph.inputs, graph.outputs)


def is_collapsible(op: Structured, graph: Graph) -> bool:
    """Every operand is read whole, each dim by one loop; a unit dim may stand at index zero."""
    if op.body.reads_index:
        return False
    for tensor, index_map in zip((*op.sources, *op.results), op.maps, strict=True):
        shape = graph.types[tensor].shape
        loops = tuple(form for form in index_map if form.dims)
        if plain_dims(loops) is None:
            return False
        if any(n != 1 for form, n in zip(index_map, shape, strict=True) if not form.dims):
            return False
    return True


@dataclass(frozen=True, slots=True)
class _Role:
    """Which operands a loop is read by: (lhs, rhs, result)."""

    lhs: bool
    rhs: bool
    result: bool


def _oriented(op: Structured) -> Structured:
    """Swap the factors where the result has the second one's rows first: ``x * w = (w' * x')'``."""
    if not is_exact_contraction(op.body) or op.body.arguments[0] != op.body.arguments[1]:
        return op
    read = [{d for form in m for d in form.dims} for m in op.source_maps]
    own = [
        d
        for form in op.result_maps[0]
        for d in form.dims
        if op.domain[d] != 1 and not (d in read[0] and d in read[1])
    ]
    if not own or own[0] in read[0] or not any(d in read[0] for d in own):
        return op
    lhs, rhs, result = op.maps
    return replace(op, sources=op.sources[::-1], maps=(rhs, lhs, result))


_NEEDED = (_Role(True, False, True), _Role(False, True, True), _Role(True, True, False))
"""m, n and k: a matmul keeps one loop of each, though it be of size one."""


def collapse(
    op: Structured, groups: list[tuple[int, ...]], graph: Graph, builder: GraphBuilder
) -> None:
    """Have each group of loops be one loop, and loops of size one that are in none go.

    Adds nothing where all loops stay. The groups are of loops that are adjacent in every operand.
    """
    if len(groups) == len(op.domain):
        return
    number = {g[0]: i for i, g in enumerate(groups)}
    maps = tuple(_merged_map(m, number) for m in op.maps)
    domain = tuple(math.prod(op.domain[d] for d in g) for g in groups)
    sources = []
    for tensor, index_map in zip(op.sources, maps, strict=False):
        sources.append(reshaped(tensor, _shape(index_map, domain), graph, builder))
    result = builder.tensor(_shape(maps[-1], domain), graph.types[op.results[0]].element)
    init: Init = op.inits[0]
    if isinstance(init, FromTensor):
        init = FromTensor(reshaped(init.tensor, _shape(maps[-1], domain), graph, builder))
    builder.add(
        replace(
            op,
            sources=tuple(sources),
            inits=(init,),
            results=(result,),
            domain=domain,
            iterators=tuple(op.iterators[g[0]] for g in groups),
            maps=maps,
        )
    )
    builder.add(Reshape(result, op.results[0]))


def _merged(op: Structured, rows_apart: bool) -> list[tuple[int, ...]]:
    """Loops in groups that become one: unit loops dropped, adjacent loops joined."""
    orders = [[form.plain_dim for form in m if form.dims] for m in op.maps]
    role = {
        d: _Role(*(any(d in form.dims for form in m) for m in op.maps))
        for d in range(len(op.domain))
    }
    kept = [d for d in range(len(op.domain)) if op.domain[d] != 1]
    for wanted in _NEEDED:
        members = [d for d in role if role[d] == wanted]
        if members and not any(d in kept for d in members):
            kept.append(members[-1])
    live = [[d for d in order if d in kept] for order in orders]
    follower = {d: _followers(d, live) for d in kept}
    joined: dict[int, int] = {}
    for d in kept:
        after = follower[d]
        if after is None or role[after] != role[d]:
            continue
        opens = isinstance(op.domain[d], Size) and not isinstance(op.domain[after], Size)
        if not (rows_apart and opens):
            joined[d] = after
    heads = [d for d in kept if d not in joined.values()]
    groups = []
    for head in heads:
        group = [head]
        while group[-1] in joined:
            group.append(joined[group[-1]])
        groups.append(tuple(group))
    return sorted(groups)


def _followers(d: int, orders: list[list[int]]) -> int | None:
    """The loop that comes right after ``d`` in every operand that has ``d``."""
    after = {
        order[order.index(d) + 1] if order.index(d) + 1 < len(order) else None
        for order in orders
        if d in order
    }
    return next(iter(after)) if len(after) == 1 else None


def _merged_map(index_map: IndexMap, number: dict[int, int]) -> IndexMap:
    heads = [form.plain_dim for form in index_map if form.dims]
    return plain_map(number[d] for d in heads if d is not None and d in number)


def _shape(index_map: IndexMap, domain: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(domain[form.dims[0]] for form in index_map)


def reshaped(tensor: int, shape: tuple[int, ...], graph: Graph, builder: GraphBuilder) -> int:
    """The tensor in a shape, by a reshape where it has another one."""
    kind = graph.types[tensor]
    if shape == kind.shape:
        return tensor
    result = builder.tensor(shape, kind.element)
    builder.add(Reshape(tensor, result))
    return result
