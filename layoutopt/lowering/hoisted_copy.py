"""A constant in another layout, computed ahead of time."""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.candidates.conversion import Conversion, conversion_form
from layoutopt.ir.backward_slice import backward_slice
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.renaming import renumbered


@dataclass(frozen=True, slots=True)
class HoistedCopy:
    """What computes it; the inputs of ``graph`` are the model's constants under their numbers."""

    graph: Graph
    result: int


def hoisted_copy(graph: Graph, tensor: int, layout: Layout) -> HoistedCopy:
    """How a tensor that depends on constants alone is made in a layout."""
    ops, leaves = backward_slice(graph, tensor)
    plain = row_major(len(graph.types[tensor].shape))
    form = conversion_form(graph, Conversion(tensor, plain, layout))
    first = len(graph.types)
    number = {t: first + t for t in range(len(form.graph.types))} | {form.inputs[0]: tensor}
    result = number[form.outputs[0]]
    moved = (renumbered(op, number) for op in form.graph.ops)
    types = (*graph.types, *form.graph.types)
    return HoistedCopy(Graph(types, (*ops, *moved), leaves, (result,)), result)
