"""The candidates of graphs, enumerated once however often a model is planned anew."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from layoutopt.candidates.explore import Space, explore
from layoutopt.ir.graph import Graph
from layoutopt.options import Effort, Options
from layoutopt.planning.rules_in_use import rules_in_use
from layoutopt.profiles.target import Target


@dataclass(frozen=True)
class Explored:
    """What was enumerated in a run.

    A plan that IREE refuses is made again without what it refused: from the same candidates. Only
    the budget and the limits of its options may be others from one plan to the next.
    """

    target: Target
    options: Options
    _spaces: dict[int, tuple[Graph, Space]] = field(default_factory=dict)

    def space(self, graph: Graph) -> Space:
        """All candidates of a graph."""
        known = self._spaces.get(id(graph))
        if known is None:
            options, rules = self.options, rules_in_use(self.options)
            # Of a GPU that is not here tiles gain less than estimates are off by, and each is
            # compiled.
            thorough = options.effort is Effort.THOROUGH
            space = explore(
                graph,
                replace(self.target, tiles_workgroups=thorough or self.target.measurable),
                options.objective,
                options.admitted,
                rules,
                image_rows=thorough,
            )
            known = self._spaces[id(graph)] = graph, space
        return known[1]
