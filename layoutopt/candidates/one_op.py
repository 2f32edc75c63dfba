"""A dispatch that computes point by point, as one elementwise op.

    t = x - m[c]; u = reshape(max(t * s[c], 0)); y[b, a, i] = u[a, b, i]        c = (a, b)
      ->
    y[b, a, i] = generic { max((x'[a, b, i] - m'[a, b]) * s'[a, b], 0) }

Reshapes go to the ends, where they move nothing: a dim that is read in parts, or made of several
loops, is one dim for each. Loops that are adjacent in every operand are then merged. The same
scalar ops run on the same numbers: results are equal bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from layoutopt.candidates.matmul_form import collapse, reshaped
from layoutopt.candidates.one_pass import READ, Point, unlike_points, whole_dims
from layoutopt.ir.affine import IndexMap, identity_map, plain_dims, plain_map
from layoutopt.ir.graph import (
    Graph,
    GraphBuilder,
    IteratorType,
    Op,
    Reshape,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, pruned
from layoutopt.ir.size import Size

MOST_OPS = 64
"""Scalar ops of one point: beyond, what several ops read would better be stored."""
_SPLITS = 8
"""Loops that are parted at most."""


def in_one_op(graph: Graph, most_ops: int = MOST_OPS) -> Graph | Refusal:
    """The graph as one elementwise op over merged loops, with reshapes around it.

    ``most_ops``: scalar ops of one point at most.
    """
    bases = {ahead_of_reshapes(graph, t) for t in graph.outputs}
    if len(bases) != 1:
        return Refusal(f"expected one result, but got {len(bases)}")
    (result,) = bases
    shapes = (t.shape for t in graph.types)
    if result in graph.inputs or any(isinstance(n, Size) for shape in shapes for n in shape):
        return Refusal("expected ops on tensors of known sizes, but got others")
    refusal = unlike_points(graph)
    if refusal is not None:
        return refusal
    parted: tuple[tuple[int, ...], ...] = tuple((n,) for n in whole_dims(graph.types[result].shape))
    for _ in range(_SPLITS):
        body = Point(graph, result, parted).body()
        finer = split(body, parted)
        if finer is None:
            if len(body.ops) > most_ops:
                got = len(body.ops)
                return Refusal(f"expected at most {most_ops} ops for a point, but got {got}")
            return _written(graph, result, parted, body)
        parted = finer
    return Refusal("expected dims that are read in a few parts, but got more")


def ahead_of_reshapes(graph: Graph, tensor: int) -> int:
    """What a tensor is a reshape of, or the tensor itself."""
    made = graph.producers[tensor]
    while made and isinstance(op := graph.ops[made[0]], Reshape):
        tensor = op.source
        made = graph.producers[tensor]
    return tensor


def split(body: Body, parted: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...] | None:
    """The loops, one of them in two, by what a place divides it by; None where nothing does."""
    for op in body.ops:
        if op.name not in ("arith.divui", "arith.remui"):
            continue
        loop, size = body.ops[op.operands[0]], _constant(body.ops[op.operands[1]])
        if loop.name != "linalg.index" or size is None:
            continue
        at = int(loop.attribute("dim"))
        found = []
        for sizes in parted:
            own = [*sizes]
            if 0 <= at < len(own) and own[at] % size == 0:
                own[at : at + 1] = [own[at] // size, size]
            at -= len(sizes)
            found.append(tuple(own))
        if (split := tuple(found)) != parted:
            return split
    return None


def _constant(op: ScalarOp) -> int | None:
    return int(op.attribute("value").split()[0]) if op.name == "arith.constant" else None


def _written(
    graph: Graph, result: int, parted: tuple[tuple[int, ...], ...], body: Body
) -> Graph | Refusal:
    """The op of a body that reads tensors, over loops of these sizes, with reshapes around it."""
    domain = tuple(n for sizes in parted for n in sizes)
    builder = GraphBuilder(len(graph.types))
    reads: dict[tuple[int, tuple[int, ...]], None] = {}
    read_by: dict[int, tuple[int, tuple[int, ...]]] = {}
    for value, op in enumerate(body.ops):
        if op.name != READ:
            continue
        digits = [_digits(body, place, domain) for place in op.operands]
        loops = tuple(d for found in digits for d in found or ())
        tensor = int(op.attribute("source"))
        if (
            None in digits
            or len({*loops}) < len(loops)
            or math.prod(domain[d] for d in loops) != graph.types[tensor].elements
        ):
            return Refusal("expected operands that are read along loops, but one is read elsewhere")
        read_by[value] = tensor, loops
        reads[tensor, loops] = None
    sources = [reshaped(t, tuple(domain[d] for d in loops), graph, builder) for t, loops in reads]
    element = graph.types[result].element
    made = builder.tensor(domain, element)
    elements = (*(graph.types[t].element for t, _ in reads), element)
    arguments = {value: [*reads].index(read) for value, read in read_by.items()}
    single = Structured(
        tuple(sources),
        (Uninitialized(),),
        (made,),
        domain,
        (IteratorType.PARALLEL,) * len(domain),
        (*(plain_map(loops) for _, loops in reads), identity_map(len(domain))),
        with_arguments(body, elements, arguments),
    )
    before = [*builder.ops]
    whole = replace(graph, types=(*graph.types, *builder.types))
    merged = GraphBuilder(len(whole.types))
    collapse(single, _merging(single), whole, merged)
    ops: list[Op] = [*before, *(merged.ops or [single])]
    ops += [Reshape(made, t) for t in graph.outputs]
    types = (*whole.types, *merged.types)
    return Graph(types, tuple(ops), graph.inputs, graph.outputs)


def _digits(body: Body, value: int, domain: Sequence[int]) -> tuple[int, ...] | None:
    """The loops of which a place is ``(a * size of b) + b``, and so on; None where it is not."""
    op = body.ops[value]
    if op.name == "linalg.index":
        return (int(op.attribute("dim")),)
    if op.name != "arith.addi":
        return None
    product = body.ops[op.operands[0]]
    if product.name != "arith.muli":
        return None
    outer = _digits(body, product.operands[0], domain)
    inner = _digits(body, op.operands[1], domain)
    if outer is None or inner is None:
        return None
    scale = _constant(body.ops[product.operands[1]])
    return (*outer, *inner) if math.prod(domain[d] for d in inner) == scale else None


def with_arguments(body: Body, elements: tuple[str, ...], arguments: dict[int, int]) -> Body:
    """The body whose reads are arguments, by value; elements of sources and of the result."""
    number = dict(arguments)
    ops: list[ScalarOp] = []
    for value, op in enumerate(body.ops):
        if value not in arguments:
            number[value] = len(elements) + len(ops)
            ops.append(replace(op, operands=tuple(number[o] for o in op.operands)))
    return pruned(Body(elements, tuple(ops), (number[body.yields[0]],)))


def _merging(op: Structured) -> list[tuple[int, ...]]:
    """The loops in groups that are adjacent in every operand."""
    loops = range(len(op.domain))
    if op.body.reads_index:
        return [(d,) for d in loops]
    groups: list[tuple[int, ...]] = []
    for d in loops:
        if d > 0 and all(follows(m, d) for m in op.maps):
            groups[-1] += (d,)
        else:
            groups.append((d,))
    return groups


def follows(index_map: IndexMap, loop: int) -> bool:
    """Whether an operand has a loop right behind the one before it, or neither of them."""
    dims = plain_dims(index_map)
    assert dims is not None
    if loop not in dims:
        return loop - 1 not in dims
    place = dims.index(loop)
    return place > 0 and dims[place - 1] == loop - 1
