"""Elementwise ops with a schedule of their own: whole rows, vector by vector, the rest peeled off.

    y[c, h, w] = max((x[c, h, w] - m[c]) * s[c], 0)
      ->
    y[c, i] = max((x[c, i] - m[c]) * s[c], 0)        i = (h, w), in vectors

The memory stays as it is. IREE 3.13 parts the rows among workgroups, and where vectors do not
divide a part of one (the 49 or 196 pixels of an image), it computes all of it number by number.
Here a workgroup has whole rows, and what vectors leave of one is a loop of its own. The same scalar
ops run on the same numbers: results are equal bit by bit.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from layoutopt.candidates.one_op import in_one_op
from layoutopt.compiler.processor import VectorRegisters
from layoutopt.ir.affine import plain_dims
from layoutopt.ir.graph import Graph, Op, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.schedule import Schedule, VectorTile
from layoutopt.ir.types import TensorType, element_bytes

_FILLS = 8
"""Times that a result fills the registers at least: calling a dispatch takes longer than fewer."""


def elementwise_tile(graph: Graph, registers: VectorRegisters) -> VectorTile | Refusal:
    """The tile for a dispatch that may be one elementwise op, or why it has none."""
    found = in_one_op(graph)
    if isinstance(found, Refusal):
        return found
    (op,) = (op for op in found.ops if isinstance(op, Structured))
    last = len(op.domain) - 1
    read = [dims for m in op.source_maps if (dims := plain_dims(m)) is not None]
    if not any(last in dims for dims in read):
        return Refusal("expected rows that are read, but got rows of one value")
    if any(last in dims[:-1] for dims in read):
        return Refusal("expected rows along the last dim of each operand, but one is transposed")
    width = op.domain[-1]
    lanes = registers.bits // (8 * _widest(op, found.types))
    if lanes == 0:
        return Refusal(f"expected elements of at most {registers.bits} bits, but got wider ones")
    least = _FILLS * registers.count * lanes
    if math.prod(op.domain) < least:
        return Refusal(f"expected at least {least} elements, but got {math.prod(op.domain)}")
    if width < lanes:
        return Refusal(f"expected rows of {lanes} elements, a vector, but got {width}")
    return VectorTile(1, lanes, width % lanes)


def with_elementwise_schedule(graph: Graph, tile: VectorTile) -> Graph | Refusal:
    """The graph as one elementwise op with a tile's schedule."""
    found = in_one_op(graph)
    if isinstance(found, Refusal):
        return found

    def scheduled(op: Op) -> Op:
        if not isinstance(op, Structured):
            return op
        return replace(op, schedule=_schedule(op, tile), generalized=True)

    return replace(found, ops=tuple(map(scheduled, found.ops)))


def _widest(op: Structured, types: Sequence[TensorType]) -> int:
    """Bytes of the largest element that is read or written."""
    return max(element_bytes(types[t].element) for t in (*op.sources, *op.results))


def _schedule(op: Structured, tile: VectorTile) -> Schedule:
    """Whole rows, vector by vector; the outermost loop is parted among threads."""
    *outer, width = op.domain
    vector = (*(1 for _ in outer), tile.columns)
    if outer:
        fitting = [n for n in range(1, outer[0] + 1) if outer[0] % n == 0]
        blocks = (tile.balanced(fitting, outer[0], 1), *outer[1:], width)
    else:
        whole = range(tile.columns, width + 1, tile.columns)
        fitting = [n for n in whole if width % n == 0] or [*whole, width]
        blocks = (tile.balanced(fitting, width, 1),)
    return Schedule(blocks, vector, (0,) * len(op.domain), peeled=tile.rest != 0)
