"""``--free-io-layout``: the model's inputs and outputs in the layouts that suit the plan.

A tensor that only the caller and planned ops see lies as the plan likes: its type stays the logical
one, its memory is that of the layout that the report names. The caller packs (or had it packed
already). Each input comes in one layout; where the plan reads it in more, it converts to the
others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from layoutopt.candidates.choice import Choice
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.conversion import Conversion
from layoutopt.ir.graph import Graph, Opaque
from layoutopt.ir.layout import Layout, row_major

_ENTRY = "hal.tensor.import"
_BARRIER = "hal.tensor.barrier"
_EXIT = "hal.tensor.export"


def free_tensors(graph: Graph) -> tuple[int, ...]:
    """The inputs and outputs that may lie in any layout."""
    return (*free_inputs(graph), *free_outputs(graph))


def free_inputs(graph: Graph) -> tuple[int, ...]:
    """The inputs that come from the caller and that only planned ops read.

    What the function returns, or an op reads that the graph cannot see through, is an output too.
    """
    makers = {t: op.name for op in graph.ops if isinstance(op, Opaque) for t in op.results}
    known = {*graph.outputs, *graph.fixed}
    return tuple(t for t in graph.inputs if makers.get(t, _ENTRY) == _ENTRY and t not in known)


def free_outputs(graph: Graph) -> tuple[int, ...]:
    """The outputs that planned ops make and only they and the caller read."""
    known = {*graph.inputs, *graph.constants, *graph.fixed}
    return tuple(t for t in graph.outputs if t not in known and _leaves(graph, t))


def _leaves(graph: Graph, tensor: int) -> bool:
    """Whether all that reads a tensor, beside planned ops, hands it to the caller."""
    for index in graph.consumers[tensor]:
        op = graph.ops[index]
        if not isinstance(op, Opaque) or op.name == _EXIT:
            continue
        if op.name != _BARRIER:
            return False
        behind = op.results[op.sources.index(tensor)]
        readers = [graph.ops[i] for i in graph.consumers[behind]]
        if any(not isinstance(reader, Opaque) or reader.name != _EXIT for reader in readers):
            return False
    return True


def chosen_io(graph: Graph, clusters: Sequence[Cluster], choice: Choice) -> dict[int, Layout]:
    """The layout in which each free input is read most, and each free output is made.

    The memory of a tensor of the caller's type has no room for padding.
    """

    def unpadded(tensor: int, layouts: Iterable[Layout]) -> list[Layout]:
        return [x for x in layouts if not x.pads(graph.types[tensor].shape)]

    found: dict[int, Layout] = {}
    for tensor in free_inputs(graph):
        read = [c.source for c in choice.conversions if c.tensor == tensor]
        read += [
            c.layout_of(tensor) for c in choice.candidates if tensor in clusters[c.cluster].inputs
        ]
        read = unpadded(tensor, read)
        plain = row_major(len(graph.types[tensor].shape))
        found[tensor] = max(dict.fromkeys(read), key=read.count, default=plain)
    for tensor in free_outputs(graph):
        made = [
            c.layout_of(tensor) for c in choice.candidates if tensor in clusters[c.cluster].outputs
        ]
        made += [c.target for c in choice.conversions if c.tensor == tensor]
        plain = row_major(len(graph.types[tensor].shape))
        made = unpadded(tensor, made)
        found[tensor] = made[0] if made and plain not in made else plain
    return found


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
                more[Conversion(tensor, given[tensor], wanted)] = None
        for c in choice.conversions:
            if c.tensor == tensor and c.source != given[tensor]:
                del more[c]
                if c.target != given[tensor]:
                    more[Conversion(tensor, given[tensor], c.target)] = None
    return replace(choice, conversions=tuple(more))
