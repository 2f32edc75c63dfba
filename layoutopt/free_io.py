"""``--free-io-layout``: the model's inputs and outputs in the layouts that suit the plan.

A tensor that only the caller sees lies as the plan likes: its type stays the logical one, its
memory is that of the layout that the report names. The caller packs (or had it packed already).
Each input comes in one layout; where the plan reads it in more, it converts to the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from layoutopt.cluster import Cluster
from layoutopt.graph import Graph, Opaque
from layoutopt.layout import Layout, row_major
from layoutopt.selection import Choice, Conversion

_ENTRY = ("hal.tensor.import",)
_EXIT = ("hal.tensor.export", "hal.tensor.barrier")


def free_inputs(graph: Graph) -> tuple[int, ...]:
    """The inputs that come from the caller, not from an op that the graph cannot see through."""
    makers = {t: op.name for op in graph.ops if isinstance(op, Opaque) for t in op.results}
    return tuple(t for t in graph.inputs if makers.get(t, _ENTRY[0]) in _ENTRY)


def free_outputs(graph: Graph) -> tuple[int, ...]:
    """The outputs that only the caller reads."""
    readers = {t: op.name for op in graph.ops if isinstance(op, Opaque) for t in op.sources}
    readers |= {
        t: op.name
        for op in graph.ops
        if isinstance(op, Opaque) and op.name not in _EXIT
        for t in op.sources
    }
    fixed = {*graph.inputs, *graph.constants}
    return tuple(t for t in graph.outputs if readers.get(t, _EXIT[0]) in _EXIT and t not in fixed)


def chosen_io(graph: Graph, clusters: Sequence[Cluster], choice: Choice) -> dict[int, Layout]:
    """The layout in which each free input is read most, and each free output is made."""
    found: dict[int, Layout] = {}
    for tensor in free_inputs(graph):
        read = [
            *(source for t, source, _ in choice.conversions if t == tensor),
            *(
                c.layout_of(tensor)
                for c in choice.candidates
                if tensor in clusters[c.cluster].inputs
            ),
        ]
        plain = row_major(len(graph.types[tensor].shape))
        found[tensor] = max(dict.fromkeys(read), key=read.count, default=plain)
    for tensor in free_outputs(graph):
        made = [
            c.layout_of(tensor) for c in choice.candidates if tensor in clusters[c.cluster].outputs
        ]
        plain = row_major(len(graph.types[tensor].shape))
        found[tensor] = made[0] if made and plain not in made else plain
    return {t: row_major(x.rank) if x.pads(graph.types[t].shape) else x for t, x in found.items()}


def with_one_input_layout(
    graph: Graph, clusters: Sequence[Cluster], choice: Choice, given: dict[int, Layout]
) -> Choice:
    """The choice with conversions from the one layout of each input to the others it is read in."""
    more: dict[Conversion, None] = dict.fromkeys(choice.conversions)
    for tensor in free_inputs(graph):
        for candidate in choice.candidates:
            if tensor not in clusters[candidate.cluster].inputs:
                continue
            wanted = candidate.layout_of(tensor)
            if wanted != given[tensor]:
                more[tensor, given[tensor], wanted] = None
        for t, source, target in choice.conversions:
            if t == tensor and source != given[tensor]:
                del more[t, source, target]
                if target != given[tensor]:
                    more[t, given[tensor], target] = None
    return replace(choice, conversions=tuple(more))
