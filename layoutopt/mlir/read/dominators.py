"""The order of blocks in which what one reads has been seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import networkx as nx


def dominated(blocks: Sequence[Any]) -> Iterator[tuple[int, int | None]]:
    """Blocks of a region that can be reached, each behind its immediate dominator: places of both.

    None stands for that of the entry. Values reach a block from its dominators alone.
    """
    flow = nx.DiGraph()
    flow.add_node(0)
    for place, block in enumerate(blocks):
        flow.add_edges_from((place, blocks.index(after)) for after in block.successors)
    above = nx.immediate_dominators(flow, 0)
    tree = nx.DiGraph()
    tree.add_node(0)
    tree.add_edges_from((above[n], n) for n in sorted(above) if n != 0)
    for place in nx.dfs_preorder_nodes(tree, 0):
        yield place, None if place == 0 else above[place]
