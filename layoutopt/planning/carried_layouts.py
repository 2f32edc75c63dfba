"""Which layouts carried tensors may take, and the conversions at the ends of graphs that follow.

At each place a carried tensor may be converted, to or from the one layout that all places have.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import networkx as nx

from layoutopt.candidates.conversion import Conversion
from layoutopt.ir.carried import Carried, Place
from layoutopt.ir.layout import Layout, row_major
from layoutopt.planning.plan_space import PlanSpace

_MOST = 8
"""Layouts of one carried tensor at most: those that most candidates like, and row-major."""


def possible_layouts(
    spaces: Sequence[PlanSpace], carried: Sequence[Carried]
) -> dict[Carried, tuple[Layout, ...]]:
    """The layouts that candidates at some place read or make each in; row-major comes first.

    What is handed on as another one (by a loop to a loop inside) may have the layouts of that too.
    """
    own = {c: _liked(spaces, c) for c in carried}
    shared: nx.Graph[Carried | Place] = nx.Graph()
    shared.add_nodes_from(carried)
    shared.add_edges_from((c, place) for c in carried for place in (*c.made, *c.read))
    found: dict[Carried, tuple[Layout, ...]] = {}
    for group in nx.connected_components(shared):
        members = [c for c in carried if c in group]
        together = sum((own[c] for c in members), Counter[Layout]())
        for c in members:
            place, tensor = c.made[0]
            plain = row_major(len(spaces[place].graph.types[tensor].shape))
            ranked = (*own[c].most_common(), *together.most_common())
            shape = spaces[place].graph.types[tensor].shape
            liked = dict.fromkeys(
                layout
                for layout, _ in ranked
                if layout != plain and not (c.is_state and layout.pads(shape))
            )
            found[c] = (plain, *[*liked][: _MOST - 1])
    return {c: found[c] for c in carried}


def _liked(spaces: Sequence[PlanSpace], carried: Carried) -> Counter[Layout]:
    found: Counter[Layout] = Counter()
    for place, tensor in carried.made:
        found.update(_read(spaces[place], tensor))
    for place, tensor in carried.read:
        found.update(_made(spaces[place], tensor))
    return found


def end_conversions(
    spaces: Sequence[PlanSpace], place: int, layouts: Mapping[Carried, Sequence[Layout]]
) -> tuple[Conversion, ...]:
    """Every conversion of one graph between what its ends may be in and what candidates like."""
    space = spaces[place]
    taken = {t: ls for c, ls in layouts.items() for g, t in c.made if g == place}
    found: dict[Conversion, None] = {}
    for tensor, starts in taken.items():
        goals = [*_read(space, tensor), row_major(starts[0].rank)]
        found |= _between(tensor, starts, goals)
    for carried, wanted in layouts.items():
        goals = list(wanted)
        for tensor in (t for g, t in carried.read if g == place and t not in space.graph.constants):
            given = [row_major(goals[0].rank)] if tensor in space.graph.inputs else []
            starts = [*taken.get(tensor, given), *_made(space, tensor)]
            found |= _between(tensor, starts, goals)
    return tuple(found)


def _between(
    tensor: int, sources: Sequence[Layout], targets: Sequence[Layout]
) -> dict[Conversion, None]:
    pairs = ((source, target) for source in sources for target in targets if source != target)
    return {Conversion(tensor, source, target): None for source, target in pairs}


def _read(space: PlanSpace, tensor: int) -> Iterator[Layout]:
    for candidate in space.candidates:
        if tensor in space.clusters[candidate.cluster].inputs:
            yield candidate.layout_of(tensor)


def _made(space: PlanSpace, tensor: int) -> Iterator[Layout]:
    for candidate in space.candidates:
        if tensor in space.clusters[candidate.cluster].outputs:
            yield candidate.layout_of(tensor)
