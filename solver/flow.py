"""The selection problem as an integer program, in the flow form.

y_c         candidate c is used
a_op        operation op is active; its extra uses are e = sum y - a
w_(o,t,p,l) operation o takes tensor t, which it needs in layout l, from layout p
z_v         conversion v is used: one variable for all its consumers

    sum_p w = sum of y over the candidates of o that need (t, l)
    sum_l w <= made(t, p), the sum of y over the candidates of any op that make (t, p)
    w <= z

That is edge consistency: shipping each demand from where it is made leaves almost nothing
fractional, unlike `needed <= made + converted`. Both rows count on one candidate for each active
op. Where two may pay (`recompute.py`), they are loosened by the extra uses, which cost what the
second candidate costs, and stated again for each candidate and each (p, l) alone.
"""

import math
from dataclasses import dataclass

from layoutopt.solver.problem import Pair, Problem
from layoutopt.solver.program import Program, Term
from layoutopt.solver.recompute import circular_tensors, required_ops, used_once
from layoutopt.solver.supply import Supply


@dataclass(frozen=True, slots=True)
class Flow:
    """The program, and the variables of each candidate and of each conversion that is not free.

    `whole` are those of these conversions that are declared integer. `implied` names, for a
    variable, groups of variables: if it is 1 in a cheapest answer, so is one of each group. The
    groups that one variable leads to, directly or by a second step, have no variable in common.
    """

    program: Program
    candidates: tuple[int, ...]
    conversions: dict[int, int]
    whole: tuple[int, ...]
    implied: dict[int, list[list[int]]]


@dataclass(frozen=True, slots=True)
class _Consumer:
    """One operation's needs for one tensor: by layout, the candidates that need it."""

    op: int | None  # None: the graph itself
    tensor: int
    needs: dict[int, list[int]]
    one_layout_each: bool  # no candidate needs the tensor in two layouts


def build(problem: Problem) -> Flow:
    """Return the program. Expects a reduced problem: every need can be supplied somehow."""
    return _Builder(problem).build()


def whole_conversions(problem: Problem, circular: frozenset[int]) -> frozenset[int]:
    """Return the conversions that must be declared integer.

    Any other is settled by the candidates: each pair comes by its cheapest conversion. Not so where
    a budget or a cut ties conversions together, or a demand leaves the layout open.
    """
    open_demands = {d.tensor for d in problem.demanded if len(d.layouts) > 1}
    budget = problem.weight_budget_bytes is not None
    return frozenset(
        i
        for i, c in enumerate(problem.conversions)
        if c.tensor in circular or c.tensor in open_demands or (budget and c.size_bytes > 0)
    )


class _Builder:
    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.tables = Supply(problem)
        self.program = Program()
        self.circular = circular_tensors(problem)
        self.once = used_once(problem, self.circular)
        self.y = [self.program.variable(c.cost_ns, integer=True) for c in problem.candidates]
        self.whole = whole_conversions(problem, self.circular)
        self.z: dict[int, int] = {}
        self.sources: dict[int, list[int]] = {}  # tensor -> layouts that are made or given
        for tensor, layout in sorted({*self.tables.makers, *problem.given}):
            self.sources.setdefault(tensor, []).append(layout)
        self.ways = {(c.tensor, c.source, c.target): i for i, c in enumerate(problem.conversions)}
        self.by_op: dict[int, list[int]] = {}
        for i, candidate in enumerate(problem.candidates):
            self.by_op.setdefault(candidate.op, []).append(i)
        self.implied: dict[int, list[list[int]]] = {}
        self.leaving: dict[Pair, list[int]] = {}  # pair -> flows that take it from its makers
        self.required = required_ops(problem)
        self.activity: dict[int, list[Term]] = {}
        self.extra: dict[int, list[Term]] = {}
        self.producers: dict[int, list[int]] = {}  # tensor -> ops that make it

    def build(self) -> Flow:
        for op, indices in self.by_op.items():
            self._operation(op, indices)
        consumers = self._consumers()
        readers: dict[int, int] = {}
        for consumer in consumers:
            readers[consumer.tensor] = readers.get(consumer.tensor, 0) + 1
        for consumer in consumers:
            self._ship(consumer, alone=readers[consumer.tensor] == 1)
            self._activate(consumer)
        budget = self.problem.weight_budget_bytes
        if budget is not None:
            sizes = [(z, self.problem.conversions[i].size_bytes) for i, z in self.z.items()]
            self.program.at_most([(z, size / budget) for z, size in sizes], 1)
        for i, candidate in enumerate(self.problem.candidates):
            takers = [v for pair in candidate.outputs for v in self.leaving.get(pair, ())]
            self.implied.setdefault(self.y[i], []).append(takers)
        whole = tuple(i for i in sorted(self.z) if i in self.whole)
        return Flow(self.program, tuple(self.y), self.z, whole, self.implied)

    def _operation(self, op: int, indices: list[int]) -> None:
        uses: list[Term] = [(self.y[i], 1) for i in indices]
        for tensor in dict.fromkeys(
            t for i in indices for t, _ in self.problem.candidates[i].outputs
        ):
            self.producers.setdefault(tensor, []).append(op)
        if op in self.once:
            self.activity[op], self.extra[op] = uses, []
            if op in self.required:
                self.program.row(1, uses, 1)
            elif len(uses) > 1:
                self.program.at_most(uses, 1)
            return
        active = self.program.variable()
        if op in self.required:
            self.program.row(1, [(active, 1)], 1)
        self.program.at_most([(active, 1), *((y, -1) for y, _ in uses)], 0)
        self.activity[op], self.extra[op] = [(active, 1)], [*uses, (active, -1)]

    def _consumers(self) -> list[_Consumer]:
        consumers: list[_Consumer] = []
        for op, indices in self.by_op.items():
            needs: dict[int, dict[int, list[int]]] = {}
            several: set[int] = set()
            for i in indices:
                inputs = self.problem.candidates[i].inputs
                tensors = [tensor for tensor, _ in inputs]
                several.update(t for t in tensors if tensors.count(t) > 1)
                for tensor, layout in inputs:
                    needs.setdefault(tensor, {}).setdefault(layout, []).append(i)
            consumers += [_Consumer(op, t, n, t not in several) for t, n in needs.items()]
        for demand in self.problem.demanded:
            needs_any: dict[int, list[int]] = {layout: [] for layout in demand.layouts}
            consumers.append(_Consumer(None, demand.tensor, needs_any, True))
        return consumers

    def _ship(self, consumer: _Consumer, *, alone: bool) -> None:
        w = self._flows(consumer, alone=alone)
        for (source, _), v in w.items():
            self.leaving.setdefault((consumer.tensor, source), []).append(v)
        extra = [] if consumer.op is None else self.extra[consumer.op]
        if consumer.op is None:
            self.program.row(1, [(v, 1) for v in w.values()], math.inf)
        for layout, needing in consumer.needs.items():
            arriving = [(v, 1) for (_, target), v in w.items() if target == layout]
            needed = [(self.y[i], -1) for i in needing]
            for i in needing:
                self.implied.setdefault(self.y[i], []).append([v for v, _ in arriving])
            if not extra and needing:
                self.program.row(0, [*arriving, *needed], 0)
            elif needing:
                self.program.row(0, [*arriving, *needed, *extra], math.inf)
                for term in needed:
                    self.program.row(0, [*arriving, term], math.inf)
        for source in self.sources.get(consumer.tensor, ()):
            self._limit(consumer, source, w, extra)

    def _limit(
        self, consumer: _Consumer, source: int, w: dict[Pair, int], extra: list[Term]
    ) -> None:
        """Nothing is shipped from a layout that nobody made."""
        pair = (consumer.tensor, source)
        leaving = [(v, 1) for (p, _), v in w.items() if p == source]
        if pair in self.problem.given or not leaving:
            return
        made = [(self.y[i], -1) for i in self.tables.makers[pair]]
        if consumer.one_layout_each:
            loosened = [(v, -c) for v, c in extra] if len(leaving) > 1 else []
            self.program.at_most([*leaving, *made, *loosened], 0)
            if not loosened:
                return
        for term in leaving:
            self.program.at_most([term, *made], 0)

    def _flows(self, consumer: _Consumer, *, alone: bool) -> dict[Pair, int]:
        w: dict[Pair, int] = {}
        for source in self.sources.get(consumer.tensor, ()):
            for target in consumer.needs:
                if source == target:
                    w[source, target] = self.program.variable()
                    continue
                way = self.ways.get((consumer.tensor, source, target))
                if way is None:
                    continue
                if self.tables.is_free(way):
                    w[source, target] = self.program.variable()
                elif alone:  # the only consumer: its flow is the conversion
                    w[source, target] = self._conversion(way)
                else:
                    w[source, target] = self.program.variable()
                    z = self._conversion(way)
                    self.program.at_most([(w[source, target], 1), (z, -1)], 0)
                    self.implied[w[source, target]] = [[z]]
        return w

    def _conversion(self, way: int) -> int:
        if way not in self.z:
            cost_ns = self.problem.conversions[way].cost_ns
            self.z[way] = self.program.variable(cost_ns, integer=way in self.whole)
        return self.z[way]

    def _activate(self, consumer: _Consumer) -> None:
        """Where a maker may be used twice, a demand needs an active op, not only enough flow."""
        makers = self.producers.get(consumer.tensor, [])
        given = any(
            (consumer.tensor, x) in self.problem.given for x in self.sources[consumer.tensor]
        )
        loose = [*makers, *([] if consumer.op is None else [consumer.op])]
        if given or not any(self.extra[op] for op in loose):
            return
        active = [term for op in makers for term in self.activity[op]]
        if consumer.op is None:
            self.program.row(1, active, math.inf)
            return
        needing = dict.fromkeys(i for indices in consumer.needs.values() for i in indices)
        loosened = [(v, -c) for v, c in self.extra[consumer.op]]
        self.program.at_most(
            [*((self.y[i], 1) for i in needing), *loosened, *((v, -c) for v, c in active)], 0
        )
