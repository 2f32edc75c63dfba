"""Compute what a slice keeps and nothing else.

    slice(f(x, w), offsets, strides)   ->   f(slice(x, ..), slice(w, ..))

For contractions, convolutions and elementwise ops: the dual of scattering behind a contraction.
Sound because a parallel loop's points do not look at each other. Fires only where nobody else
reads the whole tensor, for there it would be computed twice, or where it is only a copy.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.ir.graph import Graph, Slice, Structured
from layoutopt.rules.rewrites.interior_padding_examples import sliced_example
from layoutopt.rules.rewrites.loops import Progression, Rewriting, restricted
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression, Refusal


@dataclass(frozen=True, slots=True)
class SlicedOp:
    """A slice and the structured op that makes its source."""

    slice: Slice
    op: Structured
    sizes: tuple[int, ...]


class BubbleUpSlice:
    """Gather, the dual of scatter."""

    name = "bubble-up-slice"
    summary = "slice of a structured op -> structured op over slices of its operands"
    argument = "each result element depends on its own point of the parallel loops alone"
    evidence = Evidence.PROVED
    exactness = Exactness.BIT_EXACT
    normal_form = False
    examples = (
        Example(sliced_example(), 1),
        Example(
            sliced_example(reads_index=True),
            1,
            refusal="expected an op that does not look at its position, but it reads an index",
        ),
    )

    def match(self, graph: Graph, op: int) -> SlicedOp | None:
        """A slice whose source has a structured producer and no other readers than slices."""
        found = graph.ops[op]
        if not isinstance(found, Slice) or found.source in graph.outputs:
            return None
        alone = all(isinstance(graph.ops[c], Slice) for c in graph.consumers[found.source])
        for index in graph.producers[found.source]:
            maker = graph.ops[index]
            if not isinstance(maker, Structured) or not (alone or maker.is_copy):
                continue
            if len(maker.results) == 1 and maker.sources and 0 not in maker.domain:
                return SlicedOp(found, maker, graph.types[found.result].shape)
        return None

    def guard(self, match: SlicedOp) -> Refusal | None:
        """Every cut dim must be one loop."""
        if match.op.body.reads_index:
            return Refusal(
                "expected an op that does not look at its position, but it reads an index"
            )
        forms = match.op.result_maps[0]
        seen = [f.plain_dim for f in forms]
        if None in seen or len({*seen}) != len(seen):
            return Refusal("expected each dim of the result to be one loop, but one is not")
        return None

    def rewrite(self, graph: Graph, match: SlicedOp) -> Expression:
        """Run the op over the points that stay."""
        rewriting = Rewriting(graph.types)
        cut = match.slice
        loops = {
            form.dims[0]: Progression(cut.offsets[axis], cut.strides[axis], match.sizes[axis])
            for axis, form in enumerate(match.op.result_maps[0])
        }
        restricted(match.op, loops, rewriting, cut.result, composed=match.op.is_copy)
        return Expression(tuple(rewriting.builder.types), tuple(rewriting.builder.ops))
