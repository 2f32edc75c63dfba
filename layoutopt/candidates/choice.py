"""What a plan is made of: candidates, and conversions between their layouts."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.conversion import Conversion
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout, row_major, same_memory


@dataclass(frozen=True, slots=True)
class Choice:
    """What a solution stands for: candidates, and conversions between their layouts."""

    candidates: tuple[Candidate, ...]
    conversions: tuple[Conversion, ...]
    lowered: frozenset[Conversion] = frozenset()
    """Conversions that are written as reshapes and transposes in place of packs."""


def needed_conversions(
    graph: Graph,
    clusters: Sequence[Cluster],
    candidates: Sequence[Candidate],
    free: Container[int] = (),
) -> tuple[Conversion, ...]:
    """Every conversion that some consumer could ask of some producer, each once, in order."""
    made, wanted = _pairs(graph, clusters, candidates, free)
    found: dict[Conversion, None] = {}
    for tensor in range(len(graph.types)):
        for source in made.get(tensor, {}):
            for goal in wanted.get(tensor, {}):
                if source != goal:
                    found[Conversion(tensor, source, goal)] = None
    return tuple(found)


def is_free(graph: Graph, conversion: Conversion) -> bool:
    """Whether a conversion moves nothing."""
    shape = graph.types[conversion.tensor].shape
    return same_memory(shape, conversion.source, conversion.target)


def _pairs(
    graph: Graph,
    clusters: Sequence[Cluster],
    candidates: Sequence[Candidate],
    free: Container[int] = (),
) -> tuple[dict[int, dict[Layout, None]], dict[int, dict[Layout, None]]]:
    """For each tensor, the layouts that are made and the layouts that are read."""
    made: dict[int, dict[Layout, None]] = {}
    wanted: dict[int, dict[Layout, None]] = {}
    for tensor in graph.inputs:
        made[tensor] = {row_major(len(graph.types[tensor].shape)): None}
    for tensor in graph.outputs:
        if tensor not in free:
            wanted[tensor] = {row_major(len(graph.types[tensor].shape)): None}
    for candidate in candidates:
        layouts = dict(candidate.layouts)
        cluster = clusters[candidate.cluster]
        for tensor in cluster.inputs:
            wanted.setdefault(tensor, {})[layouts[tensor]] = None
        for tensor in cluster.outputs:
            made.setdefault(tensor, {})[layouts[tensor]] = None
    for tensor in graph.outputs:  # what the caller takes in any layout has no padding all the same
        shape = graph.types[tensor].shape
        if any(layout.pads(shape) for layout in made.get(tensor, {})):
            wanted.setdefault(tensor, {})[row_major(len(shape))] = None
    return made, wanted
