"""Apply an elementwise op to the elements of a scatter, and to its background once.

    f(scatter(x, offsets, strides, v))   ->   scatter(f(x), offsets, strides, f(v))

f(0) may be anything: the new background is the image of the old one. Where f has other operands
(a bias, a residual), each piece reads its part of them, and the background becomes a tensor of
f(v, other). Sound because f looks at one point at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.graph import Graph, Insert, Scatter, Structured, Uninitialized
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites.image import image_of, with_constant
from layoutopt.rules.rewrites.interior_padding import typed
from layoutopt.rules.rewrites.interior_padding_examples import scatter_consumer_example
from layoutopt.rules.rewrites.loops import Progression, Replacement, Rewriting, restricted
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class ScatterConsumer:
    """An elementwise op and the scatter that makes its inputs ``positions``."""

    op: Structured
    positions: tuple[int, ...]
    scatter: Scatter
    shapes: tuple[tuple[int, ...], ...]
    axes: tuple[int, ...]
    """Dims that some source covers in part."""


class PushScatterThroughElementwise:
    """Bias, truncation, activation and transposes behind a scatter."""

    name = "push-scatter-through-elementwise"
    summary = "elementwise op on a scatter -> scatter of the elementwise op on its sources"
    argument = "f is applied point by point; every place is either a source's or the background's"
    evidence = Evidence.PROVED
    exactness = Exactness.BIT_EXACT
    canonicalizes = False
    examples = (
        Example(scatter_consumer_example("arith.mulf"), 1),
        Example(scatter_consumer_example("arith.addf"), 1),
        Example(scatter_consumer_example("arith.maximumf", "5.0 : f32", permuted=True), 1),
        Example(
            scatter_consumer_example("arith.addf", reads_index=True),
            1,
            refusal="expected an op that does not look at its position, but it reads an index",
        ),
    )

    def match(self, graph: Graph, op: int) -> ScatterConsumer | None:
        """An elementwise op with one result and a scattered input."""
        found = graph.ops[op]
        if not isinstance(found, Structured) or not found.is_elementwise:
            return None
        if any(len(form.terms) > 1 for m in found.source_maps for form in m):
            return None  # an im2col copy
        if len(found.results) != 1 or not isinstance(found.inits[0], Uninitialized):
            return None
        for tensor in found.sources:
            for index in graph.producers[tensor]:
                maker = graph.ops[index]
                if isinstance(maker, Scatter) and not maker.computed:
                    return _facts(graph, found, tensor, maker)
        return None

    def guard(self, match: ScatterConsumer) -> Refusal | None:
        """Each scattered dim must be one loop of the result."""
        op = match.op
        if op.body.reads_index:
            return Refusal(
                "expected an op that does not look at its position, but it reads an index"
            )
        written = [f.plain_dim for f in op.result_maps[0]]
        if sorted(-1 if d is None else d for d in written) != list(range(len(op.domain))):
            return Refusal("expected each loop to be one dim of the result, but one is not")
        maps = {op.source_maps[p] for p in match.positions}
        if len(maps) != 1:
            return Refusal("expected the scattered tensor to be read in one way, but it is not")
        read = op.source_maps[match.positions[0]]
        loops = [d for form in read for d in form.dims]
        dims = [read[a].plain_dim for a in match.axes]
        if any(d is None or loops.count(d) > 1 for d in dims):
            return Refusal("expected each scattered dim to be one loop, but one is not")
        return None

    def rewrite(self, graph: Graph, match: ScatterConsumer) -> Expression:
        """The op once per source, then the scatter in the order of its result."""
        op, scatter = match.op, match.scatter
        rewriting = Rewriting(graph.types)
        read = op.source_maps[match.positions[0]]
        pieces, places = [], []
        strides: tuple[int, ...] = ()
        for source, offsets, shape in zip(
            scatter.sources, scatter.offsets, match.shapes, strict=True
        ):
            loops = {
                read[a].dims[0]: Progression(offsets[a], scatter.strides[a], shape[a])
                for a in match.axes
            }
            replaced = dict.fromkeys(match.positions, Replacement(source, read))
            pieces.append(restricted(op, loops, rewriting, None, replaced))
            at = [loops.get(f.dims[0]) for f in op.result_maps[0]]
            places.append(tuple(0 if loop is None else loop.start for loop in at))
            strides = tuple(1 if loop is None else loop.step for loop in at)
        value = None
        if scatter.background is not None:
            value = image_of(op, scatter.background)
            if value is None:
                _into_image(rewriting, match, pieces, places, strides)
                return Expression(tuple(rewriting.builder.types), tuple(rewriting.builder.ops))
            value = typed(value, graph.types[op.results[0]].element)
        rewriting.builder.add(Scatter(tuple(pieces), op.results[0], tuple(places), strides, value))
        return Expression(tuple(rewriting.builder.types), tuple(rewriting.builder.ops))


def _facts(graph: Graph, op: Structured, tensor: int, scatter: Scatter) -> ScatterConsumer:
    whole = graph.types[tensor].shape
    shapes = tuple(graph.types[s].shape for s in scatter.sources)
    axes = tuple(a for a, n in enumerate(whole) if any(shape[a] != n for shape in shapes))
    positions = tuple(p for p, t in enumerate(op.sources) if t == tensor)
    return ScatterConsumer(op, positions, scatter, shapes, axes)


def _into_image(
    rewriting: Rewriting,
    match: ScatterConsumer,
    pieces: list[int],
    places: list[tuple[int, ...]],
    strides: tuple[int, ...],
) -> None:
    """The background as a tensor that is computed, the pieces inserted into it."""
    op, background = match.op, match.scatter.background
    assert background is not None
    result = op.results[0]
    kind = rewriting.type_of(result)
    into = rewriting.tensor(kind.shape, kind.element)
    image = op
    for position in reversed(match.positions):
        image = with_constant(image, position, background)
    rewriting.builder.add(replace(image, results=(into,)))
    for i, (piece, place) in enumerate(zip(pieces, places, strict=True)):
        last = i == len(pieces) - 1
        after = result if last else rewriting.tensor(kind.shape, kind.element)
        rewriting.builder.add(Insert(piece, into, after, place, strides))
        into = after
