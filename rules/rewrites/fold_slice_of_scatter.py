"""Cut the sources of a scatter in place of its result.

    slice(scatter(x, offsets, strides, v))   ->   scatter(slice(x), offsets', strides', v)

A slice at the scatter's own phase is a slice of the source, one at another phase is the background
alone. Sound because places o + s*j and a + t*k meet where j and k run through one arithmetic
progression each, or nowhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from layoutopt.ir.affine import affine, identity_map
from layoutopt.ir.graph import (
    Graph,
    GraphBuilder,
    IteratorType,
    Scatter,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.rules.rewrites.loops import Progression, Rewriting
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


def _example(offset: int, stride: int, size: int, computed: bool = False) -> Graph:
    builder = GraphBuilder()
    x, wide = builder.tensor((3, 2), "f32"), builder.tensor((7, 2), "f32")
    part = builder.tensor((size, 2), "f32")
    builder.add(Scatter((x,), wide, ((1, 0),), (2, 1), "4.0 : f32", computed))
    builder.add(Slice(wide, part, (offset, 0), (stride, 1)))
    return builder.build((x,), (part,))


@dataclass(frozen=True, slots=True)
class Meeting:
    """Where a slice meets a source along one dim: places of the result, elements of the source."""

    places: Progression
    elements: Progression


@dataclass(frozen=True, slots=True)
class SlicedScatter:
    """A slice of a scatter."""

    slice: Slice
    scatter: Scatter


class FoldSliceOfScatter:
    """Slices behind a scatter."""

    name = "fold-slice-of-scatter"
    summary = "slice of a scatter -> scatter of slices, a slice, or the background"
    argument = "o + s*j = a + t*k fixes j modulo t / gcd(s, t) and k modulo s / gcd(s, t)"
    evidence = Evidence.PROVED
    exactness = Exactness.BIT_EXACT
    canonicalizes = False
    examples = (
        Example(_example(offset=1, stride=2, size=3), 1),
        Example(_example(offset=0, stride=2, size=4), 1),
        Example(_example(offset=1, stride=1, size=4), 1),
        Example(_example(offset=0, stride=3, size=3), 1),
        Example(
            _example(offset=1, stride=2, size=3, computed=True),
            1,
            refusal="expected a scatter that is not written yet, but it is index arithmetic",
        ),
    )

    def match(self, graph: Graph, op: int) -> SlicedScatter | None:
        """A slice of what a scatter makes; where there are two forms of it, the plain one."""
        found = graph.ops[op]
        if not isinstance(found, Slice):
            return None
        makers = [graph.ops[index] for index in graph.producers[found.source]]
        scatters = sorted(
            (m for m in makers if isinstance(m, Scatter)), key=lambda scatter: scatter.computed
        )
        return SlicedScatter(found, scatters[0]) if scatters else None

    def guard(self, match: SlicedScatter) -> Refusal | None:
        """Index arithmetic is a last form: the plain scatter stands beside it."""
        if not match.scatter.computed:
            return None
        return Refusal("expected a scatter that is not written yet, but it is index arithmetic")

    def rewrite(self, graph: Graph, match: SlicedScatter) -> Expression:
        """Cut each source to what the slice keeps of it."""
        cut, scatter = match.slice, match.scatter
        kind = graph.types[cut.result]
        rewriting = Rewriting(graph.types)
        pieces: list[tuple[int, list[Meeting]]] = []
        for source, offsets in zip(scatter.sources, scatter.offsets, strict=True):
            met = _meetings(cut, kind.shape, offsets, scatter.strides, graph.types[source].shape)
            if met is not None:
                pieces.append((source, met))
        if not pieces:
            assert scatter.background is not None, "sources that leave no place free meet it all"
            rewriting.builder.add(_filled(graph, scatter, cut.result))
        elif len(pieces) == 1 and _covers(pieces[0][1], kind.shape):
            rewriting.builder.add(_sliced(*pieces[0], cut.result))
        else:
            made = []
            for source, met in pieces:
                size = tuple(m.elements.size for m in met)
                made.append(rewriting.tensor(size, kind.element))
                rewriting.builder.add(_sliced(source, met, made[-1]))
            rewriting.builder.add(
                Scatter(
                    tuple(made),
                    cut.result,
                    tuple(tuple(m.places.start for m in met) for _, met in pieces),
                    tuple(m.places.step for m in pieces[0][1]),
                    scatter.background,
                )
            )
        return Expression(tuple(rewriting.builder.types), tuple(rewriting.builder.ops))


def _meetings(
    cut: Slice,
    sizes: tuple[int, ...],
    offsets: tuple[int, ...],
    strides: tuple[int, ...],
    shape: tuple[int, ...],
) -> list[Meeting] | None:
    found = []
    for axis, size in enumerate(sizes):
        kept = Progression(cut.offsets[axis], cut.strides[axis], size)
        meeting = _meeting(kept, Progression(offsets[axis], strides[axis], shape[axis]))
        if meeting is None:
            return None
        found.append(meeting)
    return found


def _meeting(kept: Progression, held: Progression) -> Meeting | None:
    """The j and k with ``kept.start + kept.step * j = held.start + held.step * k``."""
    g = math.gcd(kept.step, held.step)
    if (held.start - kept.start) % g:
        return None
    period = held.step // g
    ahead = (held.start - kept.start) // g
    first = ahead * pow(kept.step // g, -1, period) % period if period > 1 else 0
    behind = held.start - kept.start - kept.step * first  # of the source's first element
    if behind > 0:  # skip whole periods up to it
        first += -(-behind // (kept.step * period)) * period
    element = (kept.start + kept.step * first - held.start) // held.step
    stride = kept.step // g
    count = min(-(-(kept.size - first) // period), -(-(held.size - element) // stride))
    if count < 1:
        return None
    return Meeting(Progression(first, period, count), Progression(element, stride, count))


def _covers(met: list[Meeting], shape: tuple[int, ...]) -> bool:
    return all(m.places.size == size for m, size in zip(met, shape, strict=True))


def _sliced(source: int, met: list[Meeting], result: int) -> Slice:
    elements = [m.elements for m in met]
    return Slice(source, result, tuple(e.start for e in elements), tuple(e.step for e in elements))


def _filled(graph: Graph, scatter: Scatter, result: int) -> Structured:
    """The background alone.

    It names a source, whose element it drops: an op without inputs would make its whole e-class a
    constant. IREE removes the input.
    """
    assert scatter.background is not None
    kind = graph.types[result]
    source = scatter.sources[0]
    rank = len(kind.shape)
    body = Body(
        (kind.element,) * 2,
        (ScalarOp("arith.constant", (), kind.element, (("value", scatter.background),)),),
        (2,),
    )
    first = (affine([]),) * len(graph.types[source].shape)
    return Structured(
        (source,),
        (Uninitialized(),),
        (result,),
        kind.shape,
        (IteratorType.PARALLEL,) * rank,
        (first, identity_map(rank)),
        body,
    )
