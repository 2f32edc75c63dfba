"""The heuristic that compilers use: walk the graph once, decide each operation where it stands.

Among the candidates whose input tensors are there, the one with the least accumulated cost goes
first and settles the tensors that it makes; that orders alternatives and circles too (Knuth, "A
generalization of Dijkstra's algorithm", Information Processing Letters 6, 1977). Its inputs are
converted from the layouts that are there. It never takes a choice back, so it may end in layouts
that meet no demand.
"""

import heapq
import time
from dataclasses import dataclass, field

from layoutopt.solver.derivability import Derivability
from layoutopt.solver.memory import is_over
from layoutopt.solver.problem import Pair, Problem
from layoutopt.solver.solution import Solution, Status, StopReason, answer, no_answer


def solve_greedy(problem: Problem, time_limit_s: float = 60.0) -> Solution:
    """Return the heuristic's answer, FEASIBLE with no bound, or UNKNOWN. Ignores the time limit."""
    start = time.perf_counter()
    tables = Derivability(problem)
    walk = walked(tables)
    found = tables.pruned(walk.candidates, walk.conversions)
    if found is not None and not is_over(problem, *found):
        seconds = time.perf_counter() - start
        return answer(*found, tables.cost_ns(*found), 0, seconds, StopReason.EXHAUSTED)
    everything = range(len(problem.candidates)), range(len(problem.conversions))
    possible = tables.pruned(*everything) is not None
    seconds = time.perf_counter() - start
    if possible:  # the choices of this walk stood in the way, perhaps not those of another one
        return no_answer(Status.UNKNOWN, seconds, StopReason.EXHAUSTED)
    return no_answer(Status.INFEASIBLE, seconds, StopReason.PROVED)


@dataclass(slots=True)
class Walk:
    """What has been decided so far, in order."""

    tables: Derivability
    candidates: list[int] = field(default_factory=list)
    conversions: set[int] = field(default_factory=set)
    native: set[Pair] = field(default_factory=set)
    available: set[Pair] = field(default_factory=set)
    total_ns: dict[int, int] = field(default_factory=dict)  # settled tensor -> accumulated cost
    spent_bytes: int = 0

    def ways(self, pairs: tuple[Pair, ...]) -> list[int] | None:
        """Return the cheapest conversions that are missing for `pairs`; None if one cannot come."""
        found: list[int] = []
        for pair in dict.fromkeys(pairs):
            if pair in self.available:
                continue
            way = self._way(pair, self.tables.size_bytes(found))
            if way is None:
                return None
            found.append(way)
        return found

    def _way(self, pair: Pair, reserved_bytes: int) -> int | None:
        problem = self.tables.problem
        budget = problem.weight_budget_bytes
        ways = []
        for i in self.tables.arriving.get(pair, ()):
            c = problem.conversions[i]
            fits = budget is None or self.spent_bytes + reserved_bytes + c.size_bytes <= budget
            if fits and (c.tensor, c.source) in self.native:
                ways.append((c.cost_ns, c.size_bytes, i))
        return min(ways)[2] if ways else None

    def convert(self, ways: list[int]) -> None:
        """Use these conversions."""
        for i in ways:
            c = self.tables.problem.conversions[i]
            self.conversions.add(i)
            self.available.add((c.tensor, c.target))
            self.spent_bytes += c.size_bytes

    def price_ns(self, candidate: int, ways: list[int]) -> int:
        """Accumulated cost: the candidate, its conversions, and what its inputs have cost."""
        c = self.tables.problem.candidates[candidate]
        tensors = dict.fromkeys(tensor for tensor, _ in c.inputs)
        own_ns = c.cost_ns + self.tables.cost_ns((), ways)
        return own_ns + sum(self.total_ns[tensor] for tensor in tensors)

    def commit(self, candidate: int, ways: list[int]) -> None:
        """Use this candidate and the conversions before it."""
        price_ns = self.price_ns(candidate, ways)
        self.convert(ways)
        self.candidates.append(candidate)
        for pair in self.tables.problem.candidates[candidate].outputs:
            self.native.add(pair)
            self.available.add(pair)
            self.total_ns.setdefault(pair[0], price_ns)


def walked(tables: Derivability) -> Walk:
    """Walk until nothing more can be computed, then convert for the demands."""
    walk = Walk(tables)
    for pair in sorted(tables.problem.given):
        walk.native.add(pair)
        walk.available.add(pair)
        walk.total_ns[pair[0]] = 0
    _settle(walk)
    _meet_demands(walk)
    return walk


def _settle(walk: Walk) -> None:
    """Settle each tensor once, cheapest first."""
    problem = walk.tables.problem
    made: set[int] = set()
    waiting: dict[int, int] = {}
    readers: dict[int, list[int]] = {}
    queue: list[tuple[int, int]] = []

    def offer(candidate: int) -> None:
        ways = walk.ways(problem.candidates[candidate].inputs)
        if ways is not None:
            heapq.heappush(queue, (walk.price_ns(candidate, ways), candidate))

    for i, candidate in enumerate(problem.candidates):
        tensors = {tensor for tensor, _ in candidate.inputs if tensor not in walk.total_ns}
        waiting[i] = len(tensors)
        for tensor in tensors:
            readers.setdefault(tensor, []).append(i)
        if not tensors:
            offer(i)
    while queue:
        _, i = heapq.heappop(queue)
        outputs = dict.fromkeys(tensor for tensor, _ in problem.candidates[i].outputs)
        fresh = [tensor for tensor in outputs if tensor not in walk.total_ns]
        ways = walk.ways(problem.candidates[i].inputs)
        if not fresh or not made.isdisjoint(outputs) or ways is None:
            continue
        made.update(outputs)
        walk.commit(i, ways)
        for tensor in fresh:
            for reader in readers.get(tensor, ()):
                waiting[reader] -= 1
                if waiting[reader] == 0:
                    offer(reader)


def _meet_demands(walk: Walk) -> None:
    """Convert for each demand that can be met."""
    for demand in walk.tables.problem.demanded:
        offers = []
        for layout in demand.layouts:
            ways = walk.ways(((demand.tensor, layout),))
            if ways is not None:
                offers.append((walk.tables.cost_ns((), ways), layout, ways))
        if offers:
            walk.convert(min(offers)[2])
