"""Split-k: partial sums side by side, then their sum.

    y = sum_k x[k] * w[k]   ->   p[s] = sum_j x[s, j] * w[s, j],   y = sum_s p[s]      k = (s, j)

A contraction with few results keeps few compute units busy, however long its sums are. In parts it
keeps more of them busy, at the price of partial sums in memory. Sound because addition is
commutative and associative, up to rounding, and partial sums start from zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from layoutopt.ir.affine import Affine, IndexMap, dim, identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Op,
    Reshape,
    Structured,
    Uninitialized,
)
from layoutopt.ir.neutral import neutral
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body, is_reassociable
from layoutopt.ir.types import TensorType
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression, over_budget

_PART = 1024
"""Terms of each partial sum at least: the matrix units run through a part without a pause."""


@dataclass(frozen=True, slots=True)
class Split:
    """A contraction, and the loop that is split into so many parts."""

    op: Structured
    loop: int
    parts: int
    partial: TensorType
    """The partial sums."""
    operands: int
    """Elements of both operands."""


def _matmul(rows: int, summed: int, columns: int) -> Graph:
    """``matmul`` of x (tensor 0) and w (tensor 1) into y (tensor 2)."""
    builder = GraphBuilder()
    x = builder.tensor((rows, summed), "f32")
    w = builder.tensor((summed, columns), "f32")
    y = builder.tensor((rows, columns), "f32")
    parallel, reduction = IteratorType.PARALLEL, IteratorType.REDUCTION
    builder.add(
        Structured(
            (x, w), (Fill("0.0 : f32"),), (y,), (rows, columns, summed),
            (parallel, parallel, reduction),
            (plain_map((0, 2)), plain_map((2, 1)), plain_map((0, 1))),
            contraction_body("f32", "f32", "f32"),
        )
    )  # fmt: skip
    return builder.build((x, w), (y,))


class SplitReduction:
    """Long sums with few results."""

    name = "split-reduction"
    summary = "contraction with long sums -> partial contractions side by side + their sum"
    argument = "addition is commutative and associative; partial sums start from zero"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.REASSOCIATES
    canonicalizes = False
    least = _PART
    """Terms of each partial sum at least."""
    examples = (
        Example(_matmul(2, 2 * _PART, 3), 0),
        Example(
            _matmul(2 * _PART, 2 * _PART, _PART),
            0,
            refusal=f"expected at most {3 * _PART * _PART} elements of partial sums, the budget of "
            f"half of the operands, but got {4 * _PART * _PART}",
        ),
    )

    def match(self, graph: Graph, op: int) -> Split | None:
        """A contraction whose sums are at least two parts long."""
        found = graph.ops[op]
        if not isinstance(found, Structured) or not found.is_contraction:
            return None
        if found.body.reads_index or isinstance(found.inits[0], Uninitialized):
            return None
        split = _split(found, self.least)
        if split is None:
            return None
        loop, parts = split
        result = graph.types[found.results[0]]
        partial = TensorType((parts, *result.shape), result.element)
        operands = sum(graph.types[t].elements for t in found.sources)
        return Split(found, loop, parts, partial, operands)

    def guard(self, match: Split) -> Refusal | None:
        """Sums that may be added up in any order, with partial sums smaller than the operands."""
        element = match.partial.element
        adding = _adding(match.op)
        strict = {name for name, _ in adding.attributes} - {"fastmath"}
        known = neutral(adding.name, element) is not None
        if strict or not known or not is_reassociable(match.op.body, 1):
            return Refusal("expected sums that may be added up in any order")
        return over_budget(
            match.partial.elements,
            match.operands // 2,
            "elements of partial sums",
            "half of the operands",
        )

    def rewrite(self, graph: Graph, match: Split) -> Expression:
        """The parts as one more parallel loop, then the sum over them."""
        op, loop, parts = match.op, match.loop, match.parts
        types: list[TensorType] = []
        ops: list[Op] = []
        sources, maps = list(op.sources), list(op.maps)
        domain, iterators = list(op.domain), list(op.iterators)
        outer = loop
        if parts == op.domain[loop]:
            iterators[loop] = IteratorType.PARALLEL
        else:
            outer = len(domain)
            domain[loop] //= parts
            domain.append(parts)
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
        ops.append(
            replace(
                op,
                sources=tuple(sources),
                inits=(Fill(zero),),
                results=(partial,),
                domain=tuple(domain),
                iterators=tuple(iterators),
                maps=(*maps[:-1], (dim(outer), *op.result_maps[0])),
            )
        )
        rank = len(match.partial.shape) - 1
        ops.append(
            Structured(
                (partial,),
                op.inits,
                op.results,
                (*match.partial.shape[1:], parts),
                (*(IteratorType.PARALLEL,) * rank, IteratorType.REDUCTION),
                (plain_map((rank, *range(rank))), identity_map(rank)),
                Body((element, element), (replace(adding, operands=(0, 1)),), (2,)),
            )
        )
        return Expression(tuple(types), tuple(ops))


def _split(op: Structured, least: int) -> tuple[int, int] | None:
    """The loop to split and the number of parts: parts as short as they may be."""
    known = {d: op.domain[d] for d in op.reduction_dims if type(op.domain[d]) is int}
    terms = math.prod(known.values())
    ways = [
        (terms // parts, loop, parts)
        for loop, size in known.items()
        for parts in _divisors(size)
        if parts > 1 and terms // parts >= least and (parts == size or _is_plain(op, loop))
    ]
    if not ways:
        return None
    _, loop, parts = min(ways)
    return loop, parts


def _divisors(size: int) -> list[int]:
    small = [d for d in range(1, math.isqrt(size) + 1) if size % d == 0]
    return sorted({*small, *(size // d for d in small)})


def _is_plain(op: Structured, loop: int) -> bool:
    """Whether the loop runs along dims of its own, so that these can be split."""
    forms = [form for m in op.source_maps for form in m if loop in form.dims]
    return all(form.plain_dim == loop for form in forms) and not any(
        sum(form.plain_dim == loop for form in m) > 1 for m in op.source_maps
    )


def _split_dims(
    op: Structured, position: int, match: Split, kind: TensorType
) -> tuple[IndexMap, TensorType | None]:
    """How an operand is read with its dim split, and its type; None where it has no such dim."""
    forms: list[Affine] = []
    shape: list[int] = []
    loop, outer = match.loop, len(op.domain)
    read = op.source_maps[position]
    for form, size in zip(read, kind.shape, strict=True):
        if form.plain_dim == loop:
            forms += [dim(outer), form]
            shape += [match.parts, size // match.parts]
        else:
            forms.append(form)
            shape.append(size)
    if len(shape) == len(kind.shape):
        return read, None
    return tuple(forms), TensorType(tuple(shape), kind.element)


def _adding(op: Structured) -> ScalarOp:
    """The op that adds to the sum."""
    last = op.body.op_of(op.body.yields[0])
    assert last is not None  # of a contraction
    return last
