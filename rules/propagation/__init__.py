"""How layouts pass through each kind of op; one file a kind."""

from __future__ import annotations

from typing import Any

from layoutopt.graph import Concat, Gather, Insert, Op, Pad, Reshape, Scatter, Slice, Structured
from layoutopt.layout import Layout
from layoutopt.rules.propagation.barrier import BarrierLayouts
from layoutopt.rules.propagation.concat import ConcatLayouts
from layoutopt.rules.propagation.gather import GatherLayouts
from layoutopt.rules.propagation.insert import InsertLayouts
from layoutopt.rules.propagation.pad import PadLayouts
from layoutopt.rules.propagation.reshape import ReshapeLayouts
from layoutopt.rules.propagation.scatter import ScatterLayouts
from layoutopt.rules.propagation.slice import SliceLayouts
from layoutopt.rules.propagation.structured import StructuredLayouts
from layoutopt.rules.rule import Assignment, Physical, PropagationRule, Refusal
from layoutopt.types import TensorType

RULES: dict[type, PropagationRule[Any]] = {
    Structured: StructuredLayouts(),
    Pad: PadLayouts(),
    Slice: SliceLayouts(),
    Insert: InsertLayouts(),
    Scatter: ScatterLayouts(),
    Concat: ConcatLayouts(),
    Gather: GatherLayouts(),
    Reshape: ReshapeLayouts(),
}
BARRIER = BarrierLayouts()


def propagate(
    op: Op, types: tuple[TensorType, ...], tensor: int, layout: Layout
) -> Assignment | Refusal:
    """Given a layout of one tensor of ``op``, the layouts that its other tensors get."""
    return RULES.get(type(op), BARRIER).propagate(op, types, tensor, layout)


def relayout(op: Op, layouts: Assignment, physical: Physical) -> Refusal | None:
    """Add ``op`` over tensors in these layouts to ``physical``, or say why it has no form."""
    return RULES.get(type(op), BARRIER).relayout(op, layouts, physical)
