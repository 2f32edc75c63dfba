"""How the graphs of a module belong together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx

from layoutopt.ir.carried import Carried
from layoutopt.ir.graph import Graph

_TIED = "it is planned as one with the blocks that control flow hands its tensors to"


@dataclass(frozen=True, slots=True)
class ControlFlow:
    """What graphs hand to each other, and how often each runs in one call."""

    runs: tuple[int, ...]
    carried: tuple[Carried, ...] = ()

    @classmethod
    def none(cls, graphs: Sequence[Graph]) -> ControlFlow:
        """Graphs that have nothing to do with each other."""
        return cls((1,) * len(graphs))

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The graphs that have to be planned together, in order of the first."""
        ties: nx.Graph[int] = nx.Graph()
        ties.add_nodes_from(range(len(self.runs)))
        for carried in self.carried:
            nx.add_path(ties, carried.graphs)
        return tuple(sorted(tuple(sorted(group)) for group in nx.connected_components(ties)))

    def one_body(self, graph: int) -> str:
        """Why one plan has to serve all sizes of a graph; empty where nothing is handed to it."""
        return _TIED if any(graph in carried.graphs for carried in self.carried) else ""

    def among(self, graphs: Sequence[int]) -> ControlFlow:
        """The same for some graphs that nothing ties to others, numbered anew."""
        number = {graph: place for place, graph in enumerate(graphs)}
        carried = (c.among(number) for c in self.carried if number.keys() >= {*c.graphs})
        return ControlFlow(tuple(self.runs[g] for g in graphs), tuple(carried))
