"""Reductions in parts: partial results in one more dim, then a reduction of these.

    y = sum_k f(x[k])   ->   p[s] = sum_j f(x'[s, j]),   y = sum_s p[s]

Sound for any op that is commutative and associative, up to rounding: partial results start from
what is neutral for it, and the last reduction from what the one it replaces starts from.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.affine import Affine, IndexMap, dim, identity_map, plain_map
from layoutopt.ir.graph import Fill, Graph, IteratorType, Op, Reshape, Structured
from layoutopt.ir.neutral import neutral
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, is_reassociable
from layoutopt.ir.types import TensorType
from layoutopt.rules.rule import Expression, over_budget


@dataclass(frozen=True, slots=True)
class Parts:
    """A reduction with one result, and the loop that is split into so many parts."""

    op: Structured
    loop: int
    count: int
    partial: TensorType
    """The partial results."""
    operands: int
    """Elements of all operands."""
    innermost: bool
    """Neighbours along the loop are in parts of their own: k = (j, s), and s lies innermost."""


def in_parts(graph: Graph, op: Structured, loop: int, count: int, *, innermost: bool) -> Parts:
    """The reduction with partial results in a dim that lies first, or last."""
    result = graph.types[op.results[0]]
    shape = (*result.shape, count) if innermost else (count, *result.shape)
    operands = sum(graph.types[t].elements for t in op.sources)
    return Parts(op, loop, count, TensorType(shape, result.element), operands, innermost)


def refused_parts(match: Parts) -> Refusal | None:
    """Why there are no such partial results; None where they may be added up in any order."""
    adding = _adding(match.op)
    strict = {name for name, _ in adding.attributes} - {"fastmath"}
    known = neutral(adding.name, match.partial.element) is not None
    if strict or not known or not is_reassociable(match.op.body, 1):
        return Refusal("expected sums that may be added up in any order")
    return over_budget(
        match.partial.elements,
        match.operands // 2,
        "elements of partial sums",
        "half of the operands",
    )


def is_plain(graph: Graph, op: Structured, loop: int) -> bool:
    """Whether the loop runs along all of dims of its own, so that these can be split."""
    read = [
        [(form, n) for form, n in zip(m, graph.types[t].shape, strict=True) if loop in form.dims]
        for t, m in zip(op.sources, op.source_maps, strict=True)
    ]
    whole = op.domain[loop]
    return all(len(dims) <= 1 for dims in read) and all(
        form.plain_dim == loop and n == whole for dims in read for form, n in dims
    )


def rewritten(graph: Graph, match: Parts) -> Expression:
    """The parts as one more parallel loop, then the reduction of their results."""
    op, loop, count = match.op, match.loop, match.count
    types: list[TensorType] = []
    ops: list[Op] = []
    sources, maps = list(op.sources), list(op.maps)
    domain, iterators = list(op.domain), list(op.iterators)
    outer = loop
    if count == op.domain[loop]:
        iterators[loop] = IteratorType.PARALLEL
    else:
        outer = len(domain)
        domain[loop] //= count
        domain.append(count)
        iterators.append(IteratorType.PARALLEL)
        for position, source in enumerate(op.sources):
            maps[position], shape = _split_dims(op, position, match, graph.types[source])
            if shape is not None:
                sources[position] = len(graph.types) + len(types)
                types.append(shape)
                ops.append(Reshape(source, sources[position]))
    partial = len(graph.types) + len(types)
    types.append(match.partial)
    adding = _adding(op)
    element = match.partial.element
    zero = neutral(adding.name, element)
    assert zero is not None  # by the guard
    made, own = (*op.result_maps[0],), (dim(outer),)
    ops.append(
        replace(
            op,
            sources=tuple(sources),
            inits=(Fill(zero),),
            results=(partial,),
            domain=tuple(domain),
            iterators=tuple(iterators),
            maps=(*maps[:-1], (*made, *own) if match.innermost else (*own, *made)),
        )
    )
    rank = len(match.partial.shape) - 1
    kept = match.partial.shape[:-1] if match.innermost else match.partial.shape[1:]
    read = range(rank + 1) if match.innermost else (rank, *range(rank))
    ops.append(
        Structured(
            (partial,),
            op.inits,
            op.results,
            (*kept, count),
            (*(IteratorType.PARALLEL,) * rank, IteratorType.REDUCTION),
            (plain_map(tuple(read)), identity_map(rank)),
            Body((element, element), (replace(adding, operands=(0, 1)),), (2,)),
        )
    )
    return Expression(tuple(types), tuple(ops))


def _split_dims(
    op: Structured, position: int, match: Parts, kind: TensorType
) -> tuple[IndexMap, TensorType | None]:
    """How an operand is read with its dim split, and its type; None where it has no such dim."""
    forms: list[Affine] = []
    shape: list[int] = []
    loop, outer = match.loop, len(op.domain)
    read = op.source_maps[position]
    for form, size in zip(read, kind.shape, strict=True):
        if form.plain_dim == loop:
            split = [(dim(outer), match.count), (form, size // match.count)]
            for part, length in reversed(split) if match.innermost else split:
                forms.append(part)
                shape.append(length)
        else:
            forms.append(form)
            shape.append(size)
    if len(shape) == len(kind.shape):
        return read, None
    return tuple(forms), TensorType(tuple(shape), kind.element)


def _adding(op: Structured) -> ScalarOp:
    """The op that adds to the sum."""
    last = op.body.op_of(op.body.yields[0])
    assert last is not None  # of a reduction, as those who match it see to
    return last
