"""A contraction whose result is expanded, as a contraction over the expanded dims.

    reshape(contraction(x, w))   ->   contraction(reshape(x), reshape(w))      m = (m1, m0)

So it is of an elementwise op between the two (a cast of sums), step by step. Reshapes of operands
are free. Elementwise ops behind the reshape then stand right behind the contraction, and may share
its dispatch. Sound because a loop split in row-major order runs over the same points, and reads and
writes the same elements there.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.ir.affine import Affine, dim, identity_map, plain_dims, plain_map
from layoutopt.ir.graph import (
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Reshape,
    Structured,
    Uninitialized,
)
from layoutopt.ir.reassociation import reassociation
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body
from layoutopt.rules.rewrites.expansion import Expansion, Sizes, read_otherwise
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


@dataclass(frozen=True, slots=True)
class Expanded:
    """A contraction or an elementwise op, and the reshape that gives its result more dims."""

    op: Structured
    reshape: Reshape
    sizes: Sizes


def _scaled_batch_matmul(*, backwards: bool = False, negated: bool = False) -> Graph:
    """``batch_matmul`` of tensors 0 and 1, its six batches as two dims, each element doubled.

    ``backwards``: the first operand is read from its last batch to its first. ``negated``: so is
    each element ahead of the reshape.
    """
    builder = GraphBuilder()
    x, w = builder.tensor((6, 2, 4), "f32"), builder.tensor((6, 4, 5), "f32")
    y = builder.tensor((6, 2, 5), "f32")
    minus = builder.tensor((6, 2, 5), "f32") if negated else y
    shape = (2, 3, 2, 5)
    z, doubled = builder.tensor(shape, "f32"), builder.tensor(shape, "f32")
    parallel, reduction = IteratorType.PARALLEL, IteratorType.REDUCTION
    batch = Affine(((0, -1),), 5) if backwards else dim(0)
    builder.add(
        Structured(
            (x, w), (Fill("0.0 : f32"),), (y,), (6, 2, 5, 4),
            (parallel, parallel, parallel, reduction),
            ((batch, dim(1), dim(3)), plain_map((0, 3, 2)), plain_map((0, 1, 2))),
            contraction_body("f32", "f32", "f32"),
        )
    )  # fmt: skip
    if negated:
        body = Body(("f32", "f32"), (ScalarOp("arith.negf", (0,), "f32"),), (2,))
        maps = (identity_map(3), identity_map(3))
        builder.add(
            Structured((y,), (Uninitialized(),), (minus,), (6, 2, 5), (parallel,) * 3, maps, body)
        )
    builder.add(Reshape(minus, z))
    builder.add(
        Structured(
            (z,), (Uninitialized(),), (doubled,), shape, (parallel,) * 4,
            (identity_map(4), identity_map(4)),
            Body(("f32", "f32"), (ScalarOp("arith.addf", (0, 0), "f32"),), (2,)),
        )
    )  # fmt: skip
    return builder.build((x, w), (doubled,))


class FoldReshapeByExpansion:
    """Contractions with a reshape between them and the elementwise ops behind."""

    name = "fold-reshape-by-expansion"
    summary = "reshape of a contraction, or of what follows it, into more dims -> ops of reshapes"
    argument = "a loop split in row-major order runs over the same points in the same order"
    evidence = Evidence.PROVED
    exactness = Exactness.BIT_EXACT
    canonicalizes = False
    examples = (
        Example(_scaled_batch_matmul(), 1),
        Example(_scaled_batch_matmul(negated=True), 2),
        Example(
            _scaled_batch_matmul(backwards=True),
            1,
            refusal="expected operands read along the loops that are split, but got d0 * -1 + 5",
        ),
    )

    def match(self, graph: Graph, op: int) -> Expanded | None:
        """A reshape between what follows a contraction and an elementwise op."""
        reshape = graph.ops[op]
        if not isinstance(reshape, Reshape) or not _is_read_by_elementwise(graph, reshape.result):
            return None
        before, after = graph.types[reshape.source].shape, graph.types[reshape.result].shape
        groups = reassociation(before, after)
        if not groups:
            return None  # none of fewer dims, or one without any
        for index in graph.producers[reshape.source]:
            maker = graph.ops[index]
            if not isinstance(maker, Structured) or not _follows_contraction(graph, maker):
                continue
            loops = plain_dims(maker.result_maps[0])
            if loops is not None and not maker.body.reads_index:
                sizes = {
                    loop: tuple(after[d] for d in group)
                    for loop, group in zip(loops, groups, strict=True)
                    if len(group) > 1
                }
                return Expanded(maker, reshape, sizes)
        return None

    def guard(self, match: Expanded) -> Refusal | None:
        """Operands of which the same dims can be split."""
        return read_otherwise(match.op, match.sizes)

    def rewrite(self, graph: Graph, match: Expanded) -> Expression:
        """The operands in more dims, and the contraction of them."""
        builder = GraphBuilder(len(graph.types))
        Expansion(graph, builder, match.op, match.sizes).add(match.reshape.result)
        return Expression(tuple(builder.types), tuple(builder.ops))


_FURTHEST = 4
"""Elementwise ops between a contraction and a reshape."""


def _follows_contraction(graph: Graph, op: Structured, steps: int = _FURTHEST) -> bool:
    """Whether an op is a contraction, or computes point by point what comes of one."""
    if op.is_contraction:
        return True
    if not op.is_elementwise or op.is_copy or not steps or len(op.results) != 1:
        return False
    makers = (graph.ops[i] for t in op.sources for i in graph.producers[t])
    return any(isinstance(m, Structured) and _follows_contraction(graph, m, steps - 1)
               for m in makers)  # fmt: skip


def _is_read_by_elementwise(graph: Graph, tensor: int) -> bool:
    """Whether an op that computes, point by point, reads a tensor."""
    readers = [graph.ops[c] for c in graph.consumers[tensor]]
    return any(isinstance(r, Structured) and r.is_elementwise and not r.is_copy for r in readers)
