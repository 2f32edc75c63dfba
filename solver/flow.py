"""The selection problem as an integer program, in the flow form.

y_c         candidate c is used
w_(g,t,p,l) group g of readers takes tensor t, which it needs in layout l, from layout p
z_v         conversion v is used: one variable for all groups

    sum of y over the candidates that make t <= 1
    sum_p w = sum of y over the candidates of g that need (t, l)
    sum_l w <= made(t, p), the sum of y over the candidates that make (t, p)
    w <= z

That is edge consistency: shipping each demand from where it is made leaves almost nothing
fractional, unlike `needed <= made + converted`. A group holds readers of which at most one is used
(`exclusive.py`), of one operation or of alternatives. Were these apart, a half of
each could share half a maker of t, and so on up the graph: a bound of next to nothing.
"""

import math
from dataclasses import dataclass

import networkx as nx

from layoutopt.solver.derivability import Derivability
from layoutopt.solver.exclusive import exclusive_readers
from layoutopt.solver.problem import Pair, Problem
from layoutopt.solver.program import IntegerProgram


@dataclass(frozen=True, slots=True)
class Flow:
    """The program, and the variables of each candidate and of each conversion that is not free.

    `integer` are those of these conversions that are declared integer.
    """

    program: IntegerProgram
    candidates: tuple[int, ...]
    conversions: dict[int, int]
    integer: tuple[int, ...]


def build(problem: Problem) -> Flow:
    """Return the program. Expects a reduced problem: every need can be supplied somehow."""
    return _Builder(problem).build()


def integer_conversions(problem: Problem) -> frozenset[int]:
    """Return the conversions that must be declared integer.

    Any other follows from the candidates: each pair comes by its cheapest conversion. Not so where
    a budget or a cut ties conversions together, or a demand leaves the layout open.
    """
    tied = circular_tensors(problem) | {d.tensor for d in problem.demanded if len(d.layouts) > 1}
    budget = problem.weight_budget_bytes is not None
    return frozenset(
        i
        for i, c in enumerate(problem.conversions)
        if c.tensor in tied or (budget and c.size_bytes > 0)
    )


def circular_tensors(problem: Problem) -> frozenset[int]:
    """Return the tensors that could, by some choice of candidates, be needed for themselves."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    for candidate in problem.candidates:
        for need, _ in candidate.inputs:
            graph.add_edges_from((need, made) for made, _ in candidate.outputs)
    circular: set[int] = set()
    for component in nx.strongly_connected_components(graph):
        if len(component) > 1 or any(graph.has_edge(t, t) for t in component):
            circular |= component
    return frozenset(circular)


def required_tensors(tables: Derivability) -> frozenset[int]:
    """Return tensors that every answer makes: the demanded, and what all makers of these read."""
    given = {tensor for tensor, _ in tables.problem.given}
    stack = [d.tensor for d in tables.problem.demanded]
    required: set[int] = set()
    while stack:
        tensor = stack.pop()
        if tensor in given or tensor in required:
            continue
        required.add(tensor)
        makers = (tables.problem.candidates[i] for i in tables.tensor_makers.get(tensor, ()))
        reads = [{t for t, _ in maker.inputs} for maker in makers]
        stack.extend(set.intersection(*reads) if reads else ())
    return frozenset(required)


class _Builder:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.tables = Derivability(problem)
        self.program = IntegerProgram()
        self.y = [self.program.variable(c.cost_ns, integer=True) for c in problem.candidates]
        self.integer = integer_conversions(problem)
        self.z: dict[int, int] = {}
        self.sources: dict[int, list[int]] = {}  # tensor -> layouts that are made or given
        for tensor, layout in sorted({*self.tables.makers, *problem.given}):
            self.sources.setdefault(tensor, []).append(layout)
        self.ways = {(c.tensor, c.source, c.target): i for i, c in enumerate(problem.conversions)}

    def build(self) -> Flow:
        required = required_tensors(self.tables)
        for tensor, makers in self.tables.tensor_makers.items():
            lower = 1.0 if tensor in required else 0.0
            self.program.row(lower, [(self.y[i], 1) for i in makers], 1)
        groups = exclusive_readers(self.problem)
        demanded = [d.tensor for d in self.problem.demanded]
        for tensor, readers in groups.items():
            sole = len(readers) == 1 and tensor not in demanded
            for group in readers:
                self._inflow(tensor, group, sole=sole)
        for demand in self.problem.demanded:
            sole = demanded.count(demand.tensor) == 1 and demand.tensor not in groups
            w = self._flows(demand.tensor, demand.layouts, sole=sole)
            self.program.row(1, [(v, 1) for v in w.values()], math.inf)
            self._limit(demand.tensor, w, joint=True)
        budget = self.problem.weight_budget_bytes
        if budget is not None:
            sizes = [(z, self.problem.conversions[i].size_bytes) for i, z in self.z.items()]
            self.program.at_most([(z, size / budget) for z, size in sizes], 1)
        integer = tuple(i for i in sorted(self.z) if i in self.integer)
        return Flow(self.program, tuple(self.y), self.z, integer)

    def _inflow(self, tensor: int, group: list[int], *, sole: bool) -> None:
        needs: dict[int, list[int]] = {}  # layout -> candidates that need it
        several = False  # one candidate needs two layouts
        for i in group:
            layouts = [x for t, x in self.problem.candidates[i].inputs if t == tensor]
            several = several or len(layouts) > 1
            for layout in layouts:
                needs.setdefault(layout, []).append(i)
        w = self._flows(tensor, tuple(needs), sole=sole)
        for layout, needing in needs.items():
            arriving = [(v, 1) for (_, target), v in w.items() if target == layout]
            self.program.row(0, [*arriving, *((self.y[i], -1) for i in needing)], 0)
        self._limit(tensor, w, joint=not several)

    def _limit(self, tensor: int, w: dict[Pair, int], *, joint: bool) -> None:
        """Nothing is shipped from a layout that was not made."""
        for source in self.sources.get(tensor, ()):
            leaving = [(v, 1) for (p, _), v in w.items() if p == source]
            if (tensor, source) in self.problem.given:
                continue
            made = [(self.y[i], -1) for i in self.tables.makers[tensor, source]]
            for terms in [leaving] if joint else [[term] for term in leaving]:
                if terms:
                    self.program.at_most([*terms, *made], 0)

    def _flows(self, tensor: int, needed: tuple[int, ...], *, sole: bool) -> dict[Pair, int]:
        """Return the variables that ship the tensor, by layouts (from, to)."""
        w: dict[Pair, int] = {}
        for source in self.sources.get(tensor, ()):
            for target in dict.fromkeys(needed):
                way = self.ways.get((tensor, source, target))
                if source == target:
                    w[source, target] = self.program.variable()
                elif way is None:
                    continue
                elif sole and not self.tables.is_free(way):  # the only flow is the conversion
                    w[source, target] = self._conversion(way)
                else:
                    w[source, target] = self.program.variable()
                    if not self.tables.is_free(way):
                        limit = [(w[source, target], 1), (self._conversion(way), -1)]
                        self.program.at_most(limit, 0)
        return w

    def _conversion(self, way: int) -> int:
        if way not in self.z:
            cost_ns = self.problem.conversions[way].cost_ns
            self.z[way] = self.program.variable(cost_ns, integer=way in self.integer)
        return self.z[way]
