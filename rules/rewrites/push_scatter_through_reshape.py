"""Reshape the elements of a scatter, then scatter.

    reshape(scatter(x, offsets, strides, v))   ->   scatter(reshape(x), offsets', strides', v)

Sound where every dim that is strided or partly covered stays a dim of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from layoutopt.ir.graph import Graph, Reshape, Scatter
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites.interior_padding_examples import scatter_reshape_example
from layoutopt.rules.rewrites.loops import Rewriting
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class ReshapedScatter:
    """A reshape of a scatter; ``place``: where each scattered dim stands in the result."""

    op: Reshape
    scatter: Scatter
    place: tuple[tuple[int, int | None], ...]
    shape: tuple[int, ...]


class PushScatterThroughReshape:
    """Reshapes of groups and channels behind a scatter."""

    name = "push-scatter-through-reshape"
    summary = "reshape of a scatter -> scatter of reshapes"
    argument = "row-major order within the scattered dims and around them is kept apart"
    evidence = Evidence.PROVED
    exactness = Exactness.BIT_EXACT
    canonicalizes = False
    examples = (
        Example(scatter_reshape_example(), 1),
        Example(
            scatter_reshape_example(split_strided=True),
            1,
            refusal="expected scattered dims that stay dims of their own, but dim 0 does not",
        ),
    )

    def match(self, graph: Graph, op: int) -> ReshapedScatter | None:
        """A reshape of a tensor that a scatter makes."""
        found = graph.ops[op]
        if not isinstance(found, Reshape):
            return None
        for index in graph.producers[found.source]:
            maker = graph.ops[index]
            if isinstance(maker, Scatter) and not maker.computed:
                before, after = graph.types[found.source].shape, graph.types[found.result].shape
                shapes = [graph.types[s].shape for s in maker.sources]
                scattered = [
                    a
                    for a, n in enumerate(before)
                    if maker.strides[a] != 1 or any(s[a] != n for s in shapes)
                ]
                place = tuple((a, _same_dim(before, after, a)) for a in scattered)
                return ReshapedScatter(found, maker, place, after)
        return None

    def guard(self, match: ReshapedScatter) -> Refusal | None:
        """No scattered dim may be merged or split."""
        for axis, there in match.place:
            if there is None:
                return Refusal(
                    f"expected scattered dims that stay dims of their own, but dim {axis} does not"
                )
        return None

    def rewrite(self, graph: Graph, match: ReshapedScatter) -> Expression:
        """Reshape each source."""
        scatter = match.scatter
        rewriting = Rewriting(graph.types)
        pieces, places = [], []
        strides = [1] * len(match.shape)
        for source, offsets in zip(scatter.sources, scatter.offsets, strict=True):
            shape, place = list(match.shape), [0] * len(match.shape)
            for axis, there in match.place:
                assert there is not None
                shape[there] = graph.types[source].shape[axis]
                place[there] = offsets[axis]
                strides[there] = scatter.strides[axis]
            piece = rewriting.tensor(tuple(shape), graph.types[source].element)
            rewriting.builder.add(Reshape(source, piece))
            pieces.append(piece)
            places.append(tuple(place))
        rewriting.builder.add(
            Scatter(
                tuple(pieces),
                match.op.result,
                tuple(places),
                tuple(strides),
                scatter.background,
            )
        )
        return Expression(tuple(rewriting.builder.types), tuple(rewriting.builder.ops))


def _same_dim(before: tuple[int, ...], after: tuple[int, ...], axis: int) -> int | None:
    """The dim of the result with as many elements, and as many behind each of them."""
    behind = math.prod(before[axis + 1 :])
    for there, n in enumerate(after):
        if n == before[axis] and math.prod(after[there + 1 :]) == behind:
            return there
    return None
