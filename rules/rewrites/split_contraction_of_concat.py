"""A contraction of tensors side by side, as one contraction of each of them.

    contraction(concat(x1, x2), w)   ->   contraction(x2, w2) + contraction(x1, w1)

where w is w1 and w2 side by side.

Along the dim that is summed over, so that nothing has to be put side by side: each contraction goes
on from what the one before it has summed up. A pad between the concat and the contraction is one of
each tensor. Sound because the terms of the sums are the same.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate

from layoutopt.ir.affine import plain_dims, plain_map
from layoutopt.ir.graph import (
    Concat,
    Fill,
    FromTensor,
    Graph,
    GraphBuilder,
    Init,
    IteratorType,
    Pad,
    Slice,
    Structured,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import contraction_body, is_reassociable
from layoutopt.rules.rewrites.examples import counted
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression

_P, _R = IteratorType.PARALLEL, IteratorType.REDUCTION


@dataclass(frozen=True, slots=True)
class SideBySide:
    """A contraction, and the concat along one of its sums that it reads."""

    op: Structured
    position: int
    """Of the operand that is put side by side."""
    concat: Concat
    pad: Pad | None
    """What stands between."""
    loop: int
    constant: bool
    """Whether the other operand is."""


def _example(*, constant: bool) -> Graph:
    """Rows of three and of two elements side by side, times a matrix of five rows."""
    builder = GraphBuilder()
    parts = [builder.tensor((4, n), "f32") for n in (3, 2)]
    whole, w = builder.tensor((4, 5), "f32"), builder.tensor((5, 6), "f32")
    y = builder.tensor((4, 6), "f32")
    if constant:
        builder.add(counted(w, (5, 6)))
    builder.add(Concat((parts[0], parts[1]), whole, 1))
    builder.add(
        Structured(
            (whole, w), (Fill("0.0 : f32"),), (y,), (4, 6, 5), (_P, _P, _R),
            (plain_map((0, 2)), plain_map((2, 1)), plain_map((0, 1))),
            contraction_body("f32", "f32", "f32"),
        )
    )  # fmt: skip
    return builder.build(parts if constant else (*parts, w), (y,))


class SplitContractionOfConcat:
    """Sums that go on from one part to the next."""

    name = "split-contraction-of-concat"
    summary = "contraction(concat(x1, x2), w) -> contraction(x2, w2) + contraction(x1, w1)"
    argument = "a sum over loops put side by side is the sum of the sums"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.REASSOCIATES
    canonicalizes = False
    examples = (
        Example(_example(constant=True), 2),
        Example(
            _example(constant=False),
            1,
            refusal="expected weights that are constants, but got some that are computed",
        ),
    )

    def match(self, graph: Graph, op: int) -> SideBySide | None:
        """A contraction that sums over all that a concat puts side by side."""
        found = graph.ops[op]
        if not isinstance(found, Structured) or not found.is_contraction:
            return None
        if not is_reassociable(found.body, 1) or found.body.reads_index:
            return None
        for position, source in enumerate(found.sources):
            beside = _concat(graph, source)
            if beside is None or source in graph.constants:
                continue
            concat, pad = beside
            loop = _summed(found, position, concat.axis)
            if loop is not None:
                constant = found.sources[1 - position] in graph.constants
                return SideBySide(found, position, concat, pad, loop, constant)
        return None

    def guard(self, match: SideBySide) -> Refusal | None:
        """Weights that are cut ahead of time."""
        if not match.constant:
            return Refusal("expected weights that are constants, but got some that are computed")
        return None

    def rewrite(self, graph: Graph, match: SideBySide) -> Expression:
        """One contraction a part, each from the sums of the one before."""
        op, axis = match.op, match.concat.axis
        builder = GraphBuilder(len(graph.types))
        weights = op.sources[1 - match.position]
        dims = plain_dims(op.source_maps[1 - match.position])
        assert dims is not None  # by the match
        cut = dims.index(match.loop)
        sizes = [graph.types[part].shape[axis] for part in match.concat.sources]
        init: Init = op.inits[0]
        made = graph.types[op.results[0]]
        for part, size, end in zip(match.concat.sources, sizes, accumulate(sizes), strict=True):
            sources = [_padded(graph, builder, part, match.pad)] * 2
            sources[1 - match.position] = _cut(graph, builder, weights, cut, (end - size, size))
            last = end == sum(sizes)
            result = op.results[0] if last else builder.tensor(made.shape, made.element)
            domain = tuple(size if d == match.loop else n for d, n in enumerate(op.domain))
            again = replace(op, sources=tuple(sources), results=(result,), domain=domain)
            builder.add(replace(again, inits=(init,)))
            init = FromTensor(result)
        return Expression(tuple(builder.types), tuple(builder.ops))


def _concat(graph: Graph, tensor: int) -> tuple[Concat, Pad | None] | None:
    """The concat that makes a tensor of known parts, with a pad behind it or without."""
    for maker in graph.producers[tensor]:
        op = graph.ops[maker]
        if isinstance(op, Concat) and _is_known(graph, op):
            return op, None
        if not isinstance(op, Pad):
            continue
        for inner in graph.producers[op.source]:
            concat = graph.ops[inner]
            if (
                isinstance(concat, Concat)
                and _is_known(graph, concat)
                and op.low[concat.axis] == op.high[concat.axis] == 0
            ):
                return concat, op
    return None


def _is_known(graph: Graph, concat: Concat) -> bool:
    """Whether the parts have sizes that are numbers, and something in them."""
    sizes = [graph.types[part].shape[concat.axis] for part in concat.sources]
    return len(sizes) > 1 and all(type(n) is int and n > 0 for n in sizes)


def _summed(op: Structured, position: int, axis: int) -> int | None:
    """The sum that runs along a dim of an operand and one of the other, and along nothing else."""
    loop = op.source_maps[position][axis].plain_dim
    other = plain_dims(op.source_maps[1 - position])
    if loop is None or loop not in op.reduction_dims or other is None or loop not in other:
        return None
    read = [d for form in op.source_maps[position] for d in form.dims]
    return loop if read.count(loop) == 1 else None


def _padded(graph: Graph, builder: GraphBuilder, tensor: int, pad: Pad | None) -> int:
    """A part with the margin of the whole."""
    if pad is None:
        return tensor
    kind = graph.types[tensor]
    shape = (low + n + high for low, n, high in zip(pad.low, kind.shape, pad.high, strict=True))
    result = builder.tensor(shape, kind.element)
    builder.add(replace(pad, source=tensor, result=result))
    return result


def _cut(graph: Graph, builder: GraphBuilder, tensor: int, axis: int, part: tuple[int, int]) -> int:
    """The weights of one part: its offset and size."""
    kind = graph.types[tensor]
    start, size = part
    shape = tuple(size if d == axis else n for d, n in enumerate(kind.shape))
    offsets = tuple(start if d == axis else 0 for d in range(len(shape)))
    result = builder.tensor(shape, kind.element)
    builder.add(Slice(tensor, result, offsets, (1,) * len(shape)))
    return result
