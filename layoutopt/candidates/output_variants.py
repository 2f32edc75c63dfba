"""Other layouts in which a packed contraction's dispatch may write its output."""

from __future__ import annotations

from collections.abc import Iterator

from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.space import LayoutSets
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout, fills
from layoutopt.ir.neutral import Padding

Layouts = tuple[tuple[int, Layout], ...]
"""(tensor, layout) for every tensor of a cluster."""


def padding_variants(
    graph: Graph, cluster: Cluster, layouts: Layouts, sets: LayoutSets
) -> Iterator[Layouts]:
    """The same with something else in the padding of an output: it is masked where it has to be."""
    for output in cluster.outputs:
        own = dict(layouts)[output]
        if not own.pads(graph.types[output].shape):
            continue
        for padding in Padding:
            layout = own.padded_with(padding)
            if layout in sets.of[output] and not fills(own, layout):
                yield _with(layouts, output, layout)


def output_layout_variants(
    graph: Graph, cluster: Cluster, layouts: Layouts, result: int, sets: LayoutSets
) -> Iterator[Layouts]:
    """The same with the one output in another layout: the conversion is fused into the dispatch.

    Not where it is the contraction's own ``result``, nor out of a padded layout: what runs past
    the end of a tile has no place in another one.
    """
    if len(cluster.outputs) != 1 or cluster.outputs[0] == result:
        return
    (output,) = cluster.outputs
    own = dict(layouts)[output]
    for layout in sets.of[output]:
        if layout != own and not own.pads(graph.types[output].shape):
            yield _with(layouts, output, layout)


def _with(layouts: Layouts, tensor: int, layout: Layout) -> Layouts:
    return tuple((t, layout if t == tensor else x) for t, x in layouts)
