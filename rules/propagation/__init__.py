"""How layouts pass through each kind of op; one file a kind."""

from __future__ import annotations

from typing import Any

from layoutopt.ir.graph import (
    Concat,
    Constant,
    DispatchRegion,
    Extension,
    FusionBarrier,
    Gather,
    Insert,
    Op,
    Opaque,
    Pack,
    Pad,
    Reshape,
    Scatter,
    Slice,
    Structured,
    Unpack,
)
from layoutopt.ir.layout import Layout
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.ir.size import Undecided
from layoutopt.ir.types import TensorType
from layoutopt.rules.propagation.barrier import BarrierLayouts
from layoutopt.rules.propagation.concat import ConcatLayouts
from layoutopt.rules.propagation.gather import GatherLayouts
from layoutopt.rules.propagation.insert import InsertLayouts
from layoutopt.rules.propagation.pack import PackLayouts
from layoutopt.rules.propagation.pad import PadLayouts
from layoutopt.rules.propagation.reshape import ReshapeLayouts
from layoutopt.rules.propagation.scatter import ScatterLayouts
from layoutopt.rules.propagation.slice import SliceLayouts
from layoutopt.rules.propagation.structured import StructuredLayouts
from layoutopt.rules.rule import PropagationRule

BARRIER = BarrierLayouts()
PACK = PackLayouts()
RULES: dict[type, PropagationRule[Any]] = {
    Structured: StructuredLayouts(),
    Pad: PadLayouts(),
    Slice: SliceLayouts(),
    Insert: InsertLayouts(),
    Scatter: ScatterLayouts(),
    Concat: ConcatLayouts(),
    Gather: GatherLayouts(),
    Reshape: ReshapeLayouts(),
    FusionBarrier: BARRIER,
    Pack: PACK,
    Unpack: PACK,
    DispatchRegion: BARRIER,
    Constant: BARRIER,
    Opaque: BARRIER,
}
"""Every kind of op has its row, extensions aside: these say themselves how layouts pass."""


def propagate(
    op: Op, types: tuple[TensorType, ...], tensor: int, layout: Layout
) -> Assignment | Refusal:
    """Given a layout of one tensor of ``op``, the layouts that its other tensors get."""
    try:
        if isinstance(op, Extension):
            return op.propagate(types, tensor, layout)
        return RULES[type(op)].propagate(op, types, tensor, layout)
    except Undecided as question:
        return Refusal(str(question))


def relayout(op: Op, layouts: Assignment, physical: Physical) -> Refusal | None:
    """Add ``op`` over tensors in these layouts to ``physical``, or say why it has no form."""
    try:
        if isinstance(op, Extension):
            return op.relayout(layouts, physical)
        return RULES[type(op)].relayout(op, layouts, physical)
    except Undecided as question:
        return Refusal(str(question))
