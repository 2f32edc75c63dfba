"""Circular answers, and the rows that forbid them.

An answer may use candidates that wait for each other. Take a set S of native pairs that feed each
other and that nothing outside feeds. In any right answer that makes a pair of S, the first one is
made by a candidate none of whose inputs comes from S. So a used maker of S is right only if

    y_maker <= sum of all that could bring something into S from outside

This is a loop formula (Lin and Zhao, "ASSAT", Artificial Intelligence 157, 2004). Forbidding just
the circle of candidates would be wrong: they may be used together where a given pair starts it.
"""

import networkx as nx

from layoutopt.solver.derivability import Derivability, Derivation
from layoutopt.solver.flow import Flow
from layoutopt.solver.problem import Pair
from layoutopt.solver.program import Term


def cuts(
    tables: Derivability,
    flow: Flow,
    candidates: list[int],
    conversions: list[int],
    found: Derivation,
) -> list[list[Term]]:
    """Return rows `terms <= 0` that the answer breaks; none if all of it can be computed.

    Expects a reduced problem, and `conversions` with the free ones.
    """
    ran = set(found.ran)
    stuck = [i for i in candidates if i not in ran]
    if not stuck:
        return []
    answer = _Answer(tables, flow, set(candidates), set(conversions), found)
    graph: nx.DiGraph[Pair] = nx.DiGraph()
    for i in stuck:
        blocked = [p for p in tables.problem.candidates[i].inputs if p not in found.arrived]
        made = [p for p in tables.problem.candidates[i].outputs if p not in found.native]
        for pair in blocked:
            graph.add_edges_from((s, m) for s in answer.used_sources(pair) for m in made)
    rows: list[list[Term]] = []
    for loop in sorted(sorted(c) for c in nx.strongly_connected_components(graph)):
        inside = set(loop)
        if any(source not in inside for source, _ in graph.in_edges(loop)):
            continue
        outside = answer.ways_in(inside)
        makers = {i for pair in loop for i in tables.makers[pair] if i in answer.candidates}
        rows += [
            [(flow.candidates[i], 1), *((v, -1) for v in sorted(outside))] for i in sorted(makers)
        ]
    return rows


class _Answer:
    def __init__(
        self,
        tables: Derivability,
        flow: Flow,
        candidates: set[int],
        conversions: set[int],
        found: Derivation,
    ) -> None:
        self.tables = tables
        self.flow = flow
        self.candidates = candidates
        self.conversions = conversions
        self.found = found
        self.claimed = {p for i in candidates for p in tables.problem.candidates[i].outputs}

    def used_sources(self, pair: Pair) -> list[Pair]:
        """Native pairs from which this answer derives `pair`."""
        ways = (i for i in self.tables.arriving.get(pair, ()) if i in self.conversions)
        sources = [pair, *((pair[0], self.tables.problem.conversions[i].source) for i in ways)]
        return [source for source in sources if source in self.claimed]

    def ways_in(self, inside: set[Pair]) -> set[int]:
        """Variables of which one must be 1 for a pair inside to be computed; all 0 here."""
        ways: set[int] = set()
        for candidate in sorted({i for pair in inside for i in self.tables.makers[pair]}):
            ways |= self._starts(candidate, inside)
        return ways

    def _starts(self, candidate: int, inside: set[Pair]) -> set[int]:
        """Variables of which one must be 1 for `candidate` to be the first maker inside."""
        inputs = self.tables.problem.candidates[candidate].inputs
        for pair in inputs:
            sources = self._sources_of(pair, inside)
            if candidate in self.candidates:
                if pair not in self.found.arrived and inside.issuperset(self.used_sources(pair)):
                    return sources
            elif not sources:
                return set()
        return {self.flow.candidates[candidate]}

    def _sources_of(self, pair: Pair, inside: set[Pair]) -> set[int]:
        """Variables of which one must be 1 for `pair` to come from outside."""
        variables: set[int] = set()
        for source, way in [(pair, None), *self._arrivals(pair)]:
            if source in inside:
                continue
            native = source in self.claimed or source in self.tables.problem.given
            if way is not None and native and not self.tables.is_free(way):
                variables.add(self.flow.conversions[way])
            else:
                made = self.tables.makers.get(source, ())
                variables.update(self.flow.candidates[i] for i in made)
        return variables

    def _arrivals(self, pair: Pair) -> list[tuple[Pair, int]]:
        ways = self.tables.arriving.get(pair, ())
        return [((pair[0], self.tables.problem.conversions[i].source), i) for i in ways]
