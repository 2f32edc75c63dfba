"""Tiles that the model came with: what was packed by hand may be packed so again, among others.

Packs in the input are seen through, so that contractions over tiles are contractions again. The
tiles that they had are options beside the target's own.
"""

from __future__ import annotations

from collections.abc import Iterator

from layoutopt.ir.graph import Graph, Pack, Structured
from layoutopt.ir.named import is_mmt4d
from layoutopt.ir.roles import roles
from layoutopt.ir.size import Size
from layoutopt.profiles.target import Tile

_INNER_DIMS_OF_MMT4D = 2


def given_tiles(graph: Graph) -> dict[str, tuple[Tile, ...]]:
    """The tiles of a model's contractions, by the element type of their inputs."""
    found: dict[str, dict[Tile, None]] = {}
    for op in graph.ops:
        if isinstance(op, Structured) and op.is_contraction:
            element = graph.types[op.sources[0]].element
            found.setdefault(element, {}).update(dict.fromkeys(_tiles(graph, op)))
    return {element: tuple(tiles) for element, tiles in found.items() if tiles}


def _tiles(graph: Graph, op: Structured) -> Iterator[Tile]:
    inner = _inner_loops(graph, op)
    if any(isinstance(op.domain[d], Size) for d in inner):
        return
    r = roles(op)
    m, n, k = (next((op.domain[d] for d in loops if d in inner), 1) for loops in (r.m, r.n, r.k))
    if max(m, n, k) == 1:
        return
    if is_mmt4d(op):
        yield Tile(m, n, k)
    yield Tile(m, n, k, mmt4d=False)


def _inner_loops(graph: Graph, op: Structured) -> frozenset[int]:
    """The loops over the elements of a tile: those of the last dims of what is packed."""
    found: set[int] = set()
    for tensor, index_map in zip(op.sources, op.source_maps, strict=True):
        count = _INNER_DIMS_OF_MMT4D if is_mmt4d(op) else _inner_dims(graph, tensor)
        forms = index_map[len(index_map) - count :]
        found |= {form.plain_dim for form in forms if form.plain_dim is not None}
    return frozenset(found)


def _inner_dims(graph: Graph, tensor: int) -> int:
    made = (graph.ops[i] for i in graph.producers[tensor])
    return next((len(op.layout.inner_tiles) for op in made if isinstance(op, Pack)), 0)
