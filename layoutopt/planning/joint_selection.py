"""Several graphs as one integer problem, with one layout for each tensor that they carry.

    choose l      needs nothing, makes every argument and result in layout l, and token K in l
    hand on l     needs every operand in l, and K in l; makes D, which is demanded

Nothing but "choose l" makes (K, l), so that operands come in the layout that arguments have. What
is handed on need not be there before the argument is: a loop is no circle.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from layoutopt.candidates.choice import Choice
from layoutopt.ir.carried import Carried, only_handed
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout, row_major
from layoutopt.planning.selection import Selection
from layoutopt.solver import Solution
from layoutopt.solver import problem as integer


@dataclass(frozen=True)
class Part:
    """One graph of a joint problem."""

    graph: Graph
    selection: Selection
    runs: int
    """What its costs are multiplied by."""
    weights: Mapping[int, Hashable] = field(default_factory=dict)
    """Weights whose copies count against a budget, with what tells them from other parts'."""


@dataclass(frozen=True)
class JointChoice:
    """A choice for each part, and a layout for each carried tensor."""

    parts: tuple[Choice, ...]
    layouts: Mapping[Carried, Layout]


@dataclass(frozen=True)
class JointSelection:
    """The integer problem of all parts with what its numbers mean."""

    problem: integer.Problem
    parts: tuple[Part, ...]
    candidates: tuple[tuple[int, int], ...]
    """(part, candidate there), ahead of those of carried tensors."""
    conversions: tuple[tuple[tuple[int, int], ...], ...]
    """Each with the (part, conversion there) that it is."""
    carried: tuple[tuple[Carried, Layout], ...]
    """What "choose l" and "hand on l" are for, in turns, behind the candidates of parts."""

    def choice(self, solution: Solution) -> JointChoice:
        """The candidates, conversions and layouts behind an answer."""
        used = [c for c in solution.candidates if c < len(self.candidates)]
        chosen = [self.candidates[c] for c in used]
        converted = [pair for c in solution.conversions for pair in self.conversions[c]]
        parts = tuple(
            part.selection.choice(
                [c for p, c in chosen if p == place], [c for p, c in converted if p == place]
            )
            for place, part in enumerate(self.parts)
        )
        ends = (c - len(self.candidates) for c in solution.candidates[len(used) :])
        return JointChoice(parts, dict(self.carried[end // 2] for end in ends if end % 2 == 0))

    def indices(self, choice: JointChoice) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """The solver's indices of a choice; None where some of it cannot be chosen."""
        own = [p.selection.indices(c) for p, c in zip(self.parts, choice.parts, strict=True)]
        if any(found is None for found in own):
            return None
        candidates = {(p, c) for p, found in enumerate(own) if found for c in found[0]}
        converted = {(p, c) for p, found in enumerate(own) if found for c in found[1]}
        first = len(self.candidates)
        ends = [i for i, pair in enumerate(self.carried) if choice.layouts.get(pair[0]) == pair[1]]
        return (
            (
                *(i for i, pair in enumerate(self.candidates) if pair in candidates),
                *(first + 2 * i + k for i in ends for k in (0, 1)),
            ),
            tuple(i for i, pairs in enumerate(self.conversions) if converted & {*pairs}),
        )

    def part_solution(self, solution: Solution, place: int) -> Solution:
        """What an answer says of one part: its own costs, under the gap of the whole."""
        if solution.objective_ns is None or (len(self.parts) == 1 and not self.carried):
            return solution
        part = self.parts[place].selection
        choice = self.choice(solution).parts[place]
        found = part.indices(choice)
        assert found is not None, "it was chosen among these"
        cost_ns = sum(part.problem.candidates[i].cost_ns for i in found[0])
        cost_ns += sum(part.problem.conversions[i].cost_ns for i in found[1])
        gap = solution.gap or 0.0
        return replace(
            solution,
            candidates=found[0],
            conversions=found[1],
            objective_ns=cost_ns,
            bound_ns=int(cost_ns * (1 - gap)),
            gap=(cost_ns - int(cost_ns * (1 - gap))) / cost_ns if cost_ns else 0.0,
        )


def joined(
    parts: Sequence[Part], layouts: Mapping[Carried, Sequence[Layout]]
) -> JointSelection:  # fmt: skip
    """The problem of all parts, where each carried tensor takes one of some layouts."""
    if len(parts) == 1 and not layouts:
        only = parts[0].selection
        return JointSelection(
            only.problem,
            tuple(parts),
            tuple((0, i) for i in range(len(only.candidates))),
            tuple(((0, i),) for i in range(len(only.conversions))),
            (),
        )
    return _Joined(parts, layouts).build()


class _Joined:
    def __init__(
        self, parts: Sequence[Part], layouts: Mapping[Carried, Sequence[Layout]]
    ) -> None:  # fmt: skip
        self.parts = parts
        self.layouts = layouts
        self.first: list[int] = []
        self.count = 0
        for part in parts:
            self.first.append(self.count)
            self.count += part.selection.problem.tensors
        self.shared: dict[Hashable, tuple[int, dict[Layout, int]]] = {}
        """By weight: the tensor that stands for it in all parts, and its layouts."""
        self.moments = _moments(parts)
        self.numbers = [{t: dict(n) for t, n in p.selection.number.items()} for p in parts]
        """By part and tensor, the layouts that have numbers there."""

    def pair(self, place: int, pair: integer.Pair) -> integer.Pair:
        """A pair of a part in the numbers of all."""
        tensor, number = pair
        weight = self.parts[place].weights.get(tensor)
        own = self.first[place] + tensor
        if weight is None:
            return own, number
        layouts = [*self._numbers(place, tensor)]
        stands, known = self.shared.setdefault(weight, (own, {layouts[0]: 0}))
        return stands, known.setdefault(layouts[number], len(known))

    def _numbers(self, place: int, tensor: int) -> dict[Layout, int]:
        """The numbers of a tensor's layouts, in order from row-major."""
        plain = row_major(len(self.parts[place].graph.types[tensor].shape))
        return self.numbers[place].setdefault(tensor, {plain: 0})

    def at(self, place: int, tensor: int, layout: Layout) -> integer.Pair:
        """A tensor of a part in a layout."""
        known = self._numbers(place, tensor)
        return self.pair(place, (tensor, known.setdefault(layout, len(known))))

    def build(self) -> JointSelection:
        """Everything of the parts, then what ties them together."""
        taken = {place for c in self.layouts for place in c.made}
        rows: list[integer.Candidate] = []
        candidates: list[tuple[int, int]] = []
        ops = 0
        for place, part in enumerate(self.parts):
            found = part.selection.problem.candidates
            rows += [self._candidate(place, c, ops) for c in found]
            candidates += [(place, i) for i in range(len(found))]
            ops += max((c.op + 1 for c in found), default=0)
        conversions, same = self._conversions()
        given = {
            self.pair(place, pair)
            for place, part in enumerate(self.parts)
            for pair in part.selection.problem.given
            if (place, pair[0]) not in taken
        }
        demands = [*self._demands(taken)]
        ends: list[tuple[Carried, Layout]] = []
        for carried, layouts in self.layouts.items():
            token, done, self.count = self.count, self.count + 1, self.count + 2
            demands.append(integer.Demand(done, (0,)))
            for number, layout in enumerate(layouts):
                made = [self.at(g, t, layout) for g, t in carried.made]
                read = [self.at(g, t, layout) for g, t in carried.read if self._is_made(g, t)]
                key = (token, number)
                rows.append(integer.Candidate(ops, 0, (), (*made, key)))
                inputs = tuple(dict.fromkeys((*read, key)))
                rows.append(integer.Candidate(ops + 1, 0, inputs, ((done, 0),)))
                ends.append((carried, layout))
            ops += 2
        problem = integer.Problem(
            self.count,
            frozenset(given),
            tuple(demands),
            tuple(rows),
            tuple(conversions),
            self.parts[0].selection.problem.weight_budget_bytes,
            self._memory(),
        )
        return JointSelection(problem, tuple(self.parts), tuple(candidates), same, tuple(ends))

    def _memory(self) -> integer.Memory:
        """Where tensors of all parts lie: each part runs by itself, one after another."""
        places: list[integer.Place] = []
        of: dict[integer.Pair, int] = {}
        for place, (part, at) in enumerate(zip(self.parts, self.moments, strict=True)):
            memory = part.selection.problem.memory
            places += [replace(p, born=at.step + p.born) for p in memory.places]
            of |= {self.pair(place, pair): at.place + m for pair, m in memory.of.items()}
        return integer.Memory(
            tuple(places), of, self.parts[0].selection.problem.memory.budget_bytes
        )

    def _is_made(self, place: int, tensor: int) -> bool:
        """Whether a plan makes it: a constant is converted ahead of time."""
        return tensor not in self.parts[place].graph.constants

    def _candidate(self, place: int, c: integer.Candidate, ops: int) -> integer.Candidate:
        def moved(pairs: Sequence[integer.Pair]) -> tuple[integer.Pair, ...]:
            return tuple(dict.fromkeys(self.pair(place, pair) for pair in pairs))

        at = self.moments[place]
        return replace(
            c,
            op=ops + c.op,
            cost_ns=c.cost_ns * self.parts[place].runs,
            inputs=moved(c.inputs),
            outputs=moved(c.outputs),
            step=at.step + c.step,
            within=tuple((at.place + m, None if r is None else at.place + r) for m, r in c.within),
        )

    def _conversions(
        self,
    ) -> tuple[list[integer.Conversion], tuple[tuple[tuple[int, int], ...], ...]]:
        """Each conversion once, and which conversions of parts it is."""
        found: dict[tuple[int, int, int], integer.Conversion] = {}
        same: dict[tuple[int, int, int], list[tuple[int, int]]] = {}
        for place, part in enumerate(self.parts):
            for i, c in enumerate(part.selection.problem.conversions):
                tensor, source = self.pair(place, (c.tensor, c.source))
                key = (tensor, source, self.pair(place, (c.tensor, c.target))[1])
                cost_ns = c.cost_ns * part.runs
                found.setdefault(key, integer.Conversion(*key, cost_ns, c.size_bytes))
                same.setdefault(key, []).append((place, i))
        return list(found.values()), tuple(map(tuple, same.values()))

    def _demands(self, taken: set[tuple[int, int]]) -> list[integer.Demand]:
        """What is read as it is in the model, or in any layout by the caller."""
        found: list[integer.Demand] = []
        for place, part in enumerate(self.parts):
            only = only_handed(part.graph.handed_only, self.layouts)
            found += [
                replace(
                    d, tensor=self.first[place] + d.tensor, until=self.moments[place].step + d.until
                )
                for d in part.selection.problem.demanded
                if d.tensor not in only
            ]
            found += [
                integer.Demand(self.first[place] + t, (0,), self.moments[place].end)
                for t in part.graph.outputs
                if (place, t) in taken and t not in only
            ]
        return found


@dataclass(frozen=True, slots=True)
class _Moment:
    """Where the steps and the places of a part begin, and its last step."""

    step: int
    place: int
    end: int


def _moments(parts: Sequence[Part]) -> list[_Moment]:
    found: list[_Moment] = []
    step = place = 0
    for part in parts:
        problem = part.selection.problem
        ends = [d.until for d in problem.demanded] + [c.step for c in problem.candidates]
        found.append(_Moment(step, place, step + max(ends, default=0)))
        step, place = found[-1].end + 1, place + len(problem.memory.places)
    return found
