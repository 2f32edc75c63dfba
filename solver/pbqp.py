"""Partitioned boolean quadratic programming, for comparison.

A node for each tensor, whose alternatives are the candidates that make it, or that it is not made;
between two nodes the cost of converting what the one makes to what the other needs. Nodes with one
or two neighbours are folded into these without loss, the others decided one by one by their least
local cost: Scholz and Eckstein, "Register allocation for irregular architectures", LCTES 2002; for
layouts, Anderson and Gregg, "Optimal DNN primitive selection with PBQP", CGO 2018.

Pairwise costs cannot say that two readers share one conversion, that nothing may need itself in a
circle, or that copies of weights have a budget: the answer is priced and held to these at the end.
Where it is none, it is made again with all tensors that greedy's needs, of candidates that read
only what greedy reaches before what they make. What nodes were decided by is known to be wrong
then, so in the end each candidate is tried in place of what makes its tensors, and taken where that
costs less, until none does. Half of the time that is left TASO's search has, as ever from greedy's
answer on, and the other half the same search from this one on.
"""

import heapq
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from layoutopt.solver.choice import Choice, Priced, price
from layoutopt.solver.derivability import Derivability
from layoutopt.solver.greedy import solve_greedy, walked
from layoutopt.solver.problem import Pair, Problem
from layoutopt.solver.solution import Solution, answer
from layoutopt.solver.substitutes import with_makers
from layoutopt.solver.taso import backtracked, first_choice

_Costs = npt.NDArray[np.float64]
_FOLDED = 2
"""Neighbours of a node that is folded into them without loss, at most."""
_MOST = 1 << 30
"""More neighbours than any node has."""


@dataclass(slots=True)
class _Network:
    """Costs of nodes by alternative, and of pairs of neighbours by both their alternatives."""

    alternatives: dict[int, tuple[int | None, ...]]
    costs: dict[int, _Costs]
    edges: dict[int, dict[int, _Costs]] = field(default_factory=dict)
    """``edges[u][v][a, b]``; the transposed one is ``edges[v][u]``."""

    def add(self, u: int, v: int, costs: _Costs) -> None:
        """Costs of a pair of nodes, beside those that are there."""
        known = self.edges.setdefault(u, {}).get(v)
        whole = costs if known is None else known + costs
        self.edges[u][v] = whole
        self.edges.setdefault(v, {})[u] = whole.T

    def neighbours(self, node: int) -> list[int]:
        """In ascending order."""
        return sorted(self.edges.get(node, {}))

    def remove(self, node: int) -> None:
        """Take a node out with its edges."""
        for other in self.edges.pop(node, {}):
            del self.edges[other][node]


def solve_pbqp(problem: Problem, time_limit_s: float = 60.0) -> Solution:
    """Return the best that comes of its answer and greedy's, FEASIBLE with no bound; greedy's
    failure where neither is one. The time limit ends the substitutions.
    """
    start = time.perf_counter()
    tables = Derivability(problem)
    greedy = solve_greedy(problem)
    answers = []
    if greedy.objective_ns is not None:
        answers.append(Priced(greedy.objective_ns, greedy.candidates, greedy.conversions))
    found = price(tables, _chosen(_network(tables), problem.tensors))
    if found is None:
        network = _network(tables, _reached(tables))
        for i in greedy.candidates:
            for tensor, _ in problem.candidates[i].outputs:
                network.costs[tensor][0] = np.inf  # not to make it
        found = price(tables, _chosen(network, problem.tensors))
    if found is not None:
        answers.append(found)
    if not answers:
        return greedy
    until = start + time_limit_s
    ends = [_descended(tables, known, until) for known in answers]
    best, choice = min(ends, key=lambda end: end[0].cost_ns)
    if greedy.objective_ns is not None:
        other, _ = backtracked(tables, answers[0], first_choice(tables), _half_way(until))
        best = min(best, other, key=lambda known: known.cost_ns)
    best, reason = backtracked(tables, best, choice, until)
    seconds = time.perf_counter() - start
    return answer(best.candidates, best.conversions, best.cost_ns, 0, seconds, reason)


def _half_way(until: float) -> float:
    return (time.perf_counter() + until) / 2


def _descended(tables: Derivability, best: Priced, until: float) -> tuple[Priced, Choice]:
    """An answer that no single substitution makes cheaper, unless the time ends first."""
    choice = with_makers(tables, (None,) * tables.problem.tensors, best.candidates)
    improved = True
    while improved:
        improved = False
        for i in range(len(tables.problem.candidates)):
            if time.perf_counter() > until:
                return best, choice
            substitute = with_makers(tables, choice, (i,))
            if substitute == choice:
                continue
            priced = price(tables, substitute)
            if priced is not None and priced.cost_ns < best.cost_ns:
                best, choice, improved = priced, substitute, True
    return best, choice


def _reached(tables: Derivability) -> dict[int, int]:
    """The place of each tensor in the order in which greedy reaches them."""
    return {tensor: place for place, tensor in enumerate(walked(tables).total_ns)}


def _network(tables: Derivability, order: Mapping[int, int] | None = None) -> _Network:
    """With an ``order``, of the candidates that keep it."""
    problem = tables.problem
    alternatives: dict[int, tuple[int | None, ...]] = {
        tensor: (None, *(m for m in makers if order is None or _keeps(problem, m, order)))
        for tensor, makers in tables.tensor_makers.items()
    }
    network = _Network(alternatives, {t: np.zeros(len(a)) for t, a in alternatives.items()})
    for tensor, ways in alternatives.items():
        for place, way in enumerate(ways):
            if way is not None and _home(problem, way) == tensor:
                network.costs[tensor][place] += problem.candidates[way].cost_ns
                _add_inputs(network, tables, tensor, place)
        _add_one_maker(network, problem, tensor)
    for demand in problem.demanded:
        if demand.tensor in alternatives:
            network.costs[demand.tensor] += _arriving(
                tables, alternatives[demand.tensor], [(demand.tensor, x) for x in demand.layouts]
            )
    return network


def _keeps(problem: Problem, candidate: int, order: Mapping[int, int]) -> bool:
    """Whether all that a candidate reads is reached before all that it makes."""
    c = problem.candidates[candidate]
    last = max((order.get(tensor, _MOST) for tensor, _ in c.inputs), default=-1)
    return all(last < order.get(tensor, _MOST) for tensor, _ in c.outputs)


def _home(problem: Problem, candidate: int) -> int:
    """The tensor at whose node a candidate is paid, and its inputs are."""
    return problem.candidates[candidate].outputs[0][0]


def _add_inputs(network: _Network, tables: Derivability, tensor: int, place: int) -> None:
    """What the inputs of one alternative of a node ask of the nodes that make them."""
    candidate = network.alternatives[tensor][place]
    assert candidate is not None
    for pair in dict.fromkeys(tables.problem.candidates[candidate].inputs):
        ways = network.alternatives.get(pair[0])
        if ways is None or pair[0] == tensor:
            network.costs[tensor][place] += _from_given(tables, pair)
            continue
        costs = np.zeros((len(ways), len(network.costs[tensor])))
        costs[:, place] = _arriving(tables, ways, [pair])
        network.add(pair[0], tensor, costs)


def _add_one_maker(network: _Network, problem: Problem, tensor: int) -> None:
    """A candidate that makes several tensors is chosen at all of their nodes or at none."""
    ways = network.alternatives[tensor]
    homes = {w: _home(problem, w) for w in ways if w is not None}
    for home in sorted({*homes.values()} - {tensor}):
        there = network.alternatives[home]
        shared = {w for w in ways if w is not None and homes[w] == home}
        here, other = (
            np.array([way if way in shared else -1 for way in row]) for row in (ways, there)
        )
        network.add(tensor, home, np.where(here[:, None] == other[None, :], 0.0, np.inf))


def _from_given(tables: Derivability, pair: Pair) -> float:
    conversions = tables.problem.conversions
    if pair in tables.problem.given:
        return 0.0
    ways = (conversions[i] for i in tables.arriving.get(pair, ()))
    fit = [c.cost_ns for c in ways if (c.tensor, c.source) in tables.problem.given]
    return float(min(fit)) if fit else np.inf


def _arriving(tables: Derivability, ways: Iterable[int | None], pairs: Iterable[Pair]) -> _Costs:
    """For each maker of a tensor, the least cost of it in one of some layouts.

    Without a maker, it is there in the layouts in which it is given.
    """
    problem = tables.problem
    by_layout: dict[Pair, float] = {}
    for pair in pairs:
        by_layout[pair] = 0.0
        for i in tables.arriving.get(pair, ()):
            c = problem.conversions[i]
            source = c.tensor, c.source
            by_layout[source] = min(by_layout.get(source, np.inf), float(c.cost_ns))
    found = []
    for way in ways:
        made = problem.given if way is None else problem.candidates[way].outputs
        found.append(
            min((cost for pair, cost in by_layout.items() if pair in made), default=np.inf)
        )
    return np.array(found)


def _chosen(network: _Network, tensors: int) -> Choice:
    """Fold nodes until none is left, then decide them in the opposite order."""
    folded: list[tuple[int, dict[int, _Costs]]] = []
    left = set(network.alternatives)
    queue = [(_rank(network, node), node) for node in left]
    heapq.heapify(queue)
    while queue:
        rank, node = heapq.heappop(queue)
        if node not in left or rank != _rank(network, node):
            continue
        around = network.neighbours(node)
        if len(around) > _FOLDED:
            _decide(network, node)
        folded.append((node, {v: network.edges[node][v] for v in around}))
        network.remove(node)
        left.remove(node)
        _fold(network, *folded[-1])
        for v in around:
            heapq.heappush(queue, (_rank(network, v), v))
    places: dict[int, int] = {}
    for node, edges in reversed(folded):
        costs = network.costs[node] + sum(edge[:, places[v]] for v, edge in edges.items())
        places[node] = int(np.argmin(costs))
    ways = {node: network.alternatives[node][place] for node, place in places.items()}
    return tuple(ways.get(tensor) for tensor in range(tensors))


def _rank(network: _Network, node: int) -> int:
    """What is folded first: the fewest neighbours; of those with too many to fold, the most."""
    degree = len(network.edges.get(node, {}))
    return degree if degree <= _FOLDED else _MOST - degree


def _fold(network: _Network, node: int, edges: dict[int, _Costs]) -> None:
    """What a node that is gone costs its neighbours, by their alternatives."""
    costs = network.costs[node]
    if len(edges) > _FOLDED:
        place = int(np.argmin(costs))
        for v, edge in edges.items():
            network.costs[v] = network.costs[v] + edge[place]
    elif len(edges) == _FOLDED:
        (u, first), (v, second) = edges.items()
        both = costs[:, None, None] + first[:, :, None] + second[:, None, :]
        network.add(u, v, both.min(axis=0))
    else:
        for v, edge in edges.items():
            network.costs[v] = network.costs[v] + (costs[:, None] + edge).min(axis=0)


def _decide(network: _Network, node: int) -> None:
    """Leave the alternative with the least cost beside the best of each neighbour."""
    costs = network.costs[node].copy()
    for v, edge in network.edges[node].items():
        costs += (edge + network.costs[v][None, :]).min(axis=1)
    chosen = int(np.argmin(costs))
    network.costs[node] = np.where(np.arange(len(costs)) == chosen, network.costs[node], np.inf)
