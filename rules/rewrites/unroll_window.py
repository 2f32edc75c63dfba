"""A reduction over a small window alone is elementwise work on shifted reads.

    pooling(x)   ->   f(.. f(f(init, x[s*o]), x[s*o + d]) .., x[s*o + d*(k-1)])

Sound because the reads are folded in the order in which the loops would visit them. Compilers
vectorize elementwise work better than windows on some targets (pooling on CPUs).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from layoutopt.ir.affine import Affine, IndexMap, affine
from layoutopt.ir.graph import (
    Fill,
    FromTensor,
    Graph,
    GraphBuilder,
    IteratorType,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.rules.rewrites.examples import convolution_example, depthwise_example
from layoutopt.rules.rewrites.interior_padding import typed
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression, over_budget

_TAPS = 25
"""Elements of a window at most: a 5 x 5 one. Every one of them is code."""
_NOT_READ = -1
"""In place of an argument: a source that only says how large the window is."""


@dataclass(frozen=True, slots=True)
class Reduction:
    """A structured op that reduces windows, and the loops inside them."""

    op: Structured
    loops: tuple[int, ...]
    taps: int

    def loops_in(self, form: Affine) -> bool:
        """Whether the form moves within the window."""
        return not {*self.loops}.isdisjoint(form.dims)


class UnrollWindow:
    """Pooling and depthwise convolution -> one elementwise op."""

    name = "unroll-window"
    summary = "reduction over a small window -> elementwise over shifted reads"
    argument = "the body is applied to the same elements in the same order"
    evidence = Evidence.PROVED
    exactness = Exactness.BIT_EXACT
    canonicalizes = False
    examples = (
        Example(depthwise_example(filter_size=2, stride=2), 0),
        Example(
            convolution_example(filter_size=2, stride=1),
            0,
            refusal="expected a reduction over windows alone, but it also sums over channels",
        ),
        Example(
            depthwise_example(filter_size=6, stride=2),
            0,
            refusal="expected at most 25 elements in a window, the budget of code for one op, "
            "but got 36",
        ),
        Example(
            depthwise_example(stride=1),
            0,
            refusal="expected windows more than one element apart, for linalg takes the size of a "
            "loop that is read plainly from the tensor, but got stride 1",
        ),
    )

    def match(self, graph: Graph, op: int) -> Reduction | None:
        """An op with one result whose sources are read through windows."""
        found = graph.ops[op]
        if not isinstance(found, Structured) or len(found.results) != 1 or found.body.reads_index:
            return None
        loops = found.reduction_dims
        inside = {
            d for m in found.source_maps for f in m if len(f.terms) > 1 for d in f.dims
        }.intersection(loops)
        taps = 1
        for d in loops:
            taps *= found.domain[d]
        if not inside or taps == 1:
            return None
        return Reduction(found, tuple(d for d in loops if d in inside), taps)

    def guard(self, match: Reduction) -> Refusal | None:
        """Small windows, and nothing else to sum over."""
        if match.loops != match.op.reduction_dims:
            return Refusal(
                "expected a reduction over windows alone, but it also sums over channels"
            )
        if match.taps > _TAPS:
            return over_budget(match.taps, _TAPS, "elements in a window", "code for one op")
        if not _writes_all(match.op):
            return Refusal(
                "expected each dim of the result to be one parallel loop, for what is not written "
                "keeps the init, but one is not"
            )
        if any(_reads_plainly(f, match) for m in match.op.source_maps for f in m):
            return Refusal(
                "expected windows more than one element apart, for linalg takes the size of a "
                "loop that is read plainly from the tensor, but got stride 1"
            )
        return None

    def rewrite(self, graph: Graph, match: Reduction) -> Expression:
        """Fold the body over the elements of the window."""
        op = match.op
        builder = GraphBuilder(len(graph.types))
        builder.add(_unrolled(op))
        return Expression((), tuple(builder.ops))


def _writes_all(op: Structured) -> bool:
    """Whether the parallel loops are the dims of the result, each once."""
    kept = [d for d in range(len(op.domain)) if d not in op.reduction_dims]
    written = [form.plain_dim for form in op.result_maps[0]]
    return sorted(-1 if d is None else d for d in written) == kept


def _reads_plainly(form: Affine, match: Reduction) -> bool:
    """Whether some element of a window is read through a plain loop."""
    if not match.loops_in(form):
        return False
    moving = [(d, c) for d, c in form.terms if d not in match.loops]
    spans = [c * (match.op.domain[d] - 1) for d, c in form.terms if d in match.loops]
    lowest = form.offset + sum(min(0, s) for s in spans)
    return affine(moving).plain_dim is not None and lowest <= 0


def _unrolled(op: Structured) -> Structured:
    reads: dict[tuple[int, IndexMap], int] = {}
    kept = [d for d in range(len(op.domain)) if d not in op.reduction_dims]
    number = {d: i for i, d in enumerate(kept)}
    visits: list[list[int]] = []
    for point in itertools.product(*(range(op.domain[d]) for d in op.reduction_dims)):
        at = dict(zip(op.reduction_dims, point, strict=True))
        row: list[int] = []
        for position, index_map in enumerate(op.source_maps):
            if not op.body.used(position):
                row.append(_NOT_READ)
                continue
            read = (position, tuple(_fixed(f, at).renamed(number) for f in index_map))
            row.append(reads.setdefault(read, len(reads)))
        visits.append(row)
    (init,) = op.inits
    result_map = tuple(f.renamed(number) for f in op.result_maps[0])
    sources = [op.sources[position] for position, _ in reads]
    maps = [index_map for _, index_map in reads]
    types = [op.body.arguments[position] for position, _ in reads]
    if isinstance(init, FromTensor):
        sources.append(init.tensor)
        maps.append(result_map)
        types.append(op.body.arguments[-1])
    return Structured(
        tuple(sources),
        (Uninitialized(),),
        op.results,
        tuple(op.domain[d] for d in kept),
        (IteratorType.PARALLEL,) * len(kept),
        (*maps, result_map),
        _folded(op, tuple(types), visits),
    )


def _fixed(form: Affine, at: Mapping[int, int]) -> Affine:
    """The form where some loops stand still."""
    offset = form.offset + sum(c * at.get(d, 0) for d, c in form.terms)
    return affine(((d, c) for d, c in form.terms if d not in at), offset)


def _folded(op: Structured, types: tuple[str, ...], visits: Sequence[Sequence[int]]) -> Body:
    """The body once per visit; ``visits[i][p]``: the argument that stands for source p there."""
    out = op.body.arguments[-1]
    arguments = (*types, out)
    ops: list[ScalarOp] = []
    accumulator = len(types) - 1
    (init,) = op.inits
    if isinstance(init, Fill):
        ops.append(ScalarOp("arith.constant", (), out, (("value", typed(init.value, out)),)))
        accumulator = len(arguments)
    given = len(op.body.arguments)
    for row in visits:
        value = dict(enumerate((*row, accumulator)))
        for position, scalar in enumerate(op.body.ops):
            operands = tuple(value[v] for v in scalar.operands)
            ops.append(replace(scalar, operands=operands))
            value[given + position] = len(arguments) + len(ops) - 1
        accumulator = value[op.body.yields[0]]
    return Body(arguments, tuple(ops), (accumulator,))
