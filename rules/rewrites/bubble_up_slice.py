"""Compute what a slice keeps and nothing else.

    slice(f(x, w), offsets, strides)   ->   f(slice(x, ..), slice(w, ..))

For contractions, convolutions and elementwise ops: the dual of scattering behind a contraction.
Sound because a parallel loop's points do not look at each other. Where others read the whole tensor
too, it is computed twice, and each op behind it may be: the forms double with every branch that
joins again. So there is a budget for such readers; what only copies is outside of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.ir.graph import Concat, Graph, Slice, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites.interior_padding_examples import sliced_example
from layoutopt.rules.rewrites.loops import Progression, Rewriting, restricted
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression, over_budget

_OTHERS = 0
"""Readers of the whole tensor at most. Without a budget ResNet-50 has 3759 candidates and not 1001,
many of them equal under several names."""


@dataclass(frozen=True, slots=True)
class SlicedOp:
    """A slice and the structured op that makes its source."""

    slice: Slice
    op: Structured
    sizes: tuple[int, ...]
    others: int
    """Readers of the whole tensor that are not slices, the caller among them."""


class BubbleUpSlice:
    """Gather, the dual of scatter."""

    name = "bubble-up-slice"
    summary = "slice of a structured op -> structured op over slices of its operands"
    argument = "each result element depends on its own point of the parallel loops alone"
    evidence = Evidence.PROVED
    exactness = Exactness.BIT_EXACT
    canonicalizes = False
    examples = (
        Example(sliced_example(), 1),
        Example(
            sliced_example(reads_index=True),
            1,
            refusal="expected an op that does not look at its position, but it reads an index",
        ),
    )

    def match(self, graph: Graph, op: int) -> SlicedOp | None:
        """A slice whose source has a structured producer."""
        found = graph.ops[op]
        if not isinstance(found, Slice):
            return None
        readers = [graph.ops[c] for c in graph.consumers[found.source]]
        others = sum(not isinstance(reader, Slice) for reader in readers)
        others += found.source in graph.outputs
        makers = [graph.ops[index] for index in graph.producers[found.source]]
        ops = [m for m in makers if isinstance(m, Structured) and _is_cut(m)]
        ops = [m for m in ops if not _is_merged(graph, m)]
        ops.sort(key=lambda maker: not maker.is_copy)
        if not ops:
            return None
        return SlicedOp(found, ops[0], graph.types[found.result].shape, others)

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
        if match.op.is_copy:
            return None
        return over_budget(
            match.others,
            _OTHERS,
            "readers of the whole tensor beside slices",
            "what is computed twice",
        )

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


def _is_cut(op: Structured) -> bool:
    """Whether there is something to leave out."""
    return len(op.results) == 1 and bool(op.sources) and 0 not in op.domain


def _is_merged(graph: Graph, op: Structured) -> bool:
    """Whether an op has weights that were laid side by side: its slices are ops of the model."""
    makers = (graph.ops[m] for t in op.sources for m in graph.producers[t] if t in graph.constants)
    return any(isinstance(maker, Concat) for maker in makers)
