"""What an answer holds in memory at each step, and rows of the integer program that bound it.

A place is held from its `born` to the last step at which a used candidate reads a pair that lies
there, or until which it is demanded; at `born` in any case, where a used candidate makes it. What
lies within another place holds that one as long, and takes nothing by itself. A used candidate
takes its scratch at its step.

The rows of one step keep within the budget all that can be held then:

h_m   place m is held: at least the sum of the y of readers of which at most one is used
e_m   and is memory of its own: at least h_m, less the y of what makes it within another place

    sum of size_m * e_m + sum of scratch_c * y_c <= budget

Few steps are ever near the budget, so that rows are added for those where an answer exceeds it.
"""

from collections.abc import Iterable, Sequence

from layoutopt.solver.derivability import Derivability
from layoutopt.solver.flow import Flow
from layoutopt.solver.problem import Problem
from layoutopt.solver.program import Term

_AT_ONCE = 16  # steps that get rows for one answer


def held_bytes(
    problem: Problem, candidates: Sequence[int], conversions: Sequence[int]
) -> dict[int, int]:
    """Bytes held at each step at which a used candidate runs or something begins to be held."""
    used = [problem.candidates[i] for i in candidates]
    last = _last_uses(problem, candidates, conversions)
    inside = {made for c in used for made, _ in c.within}
    own = [(problem.memory.places[m], end) for m, end in last.items() if m not in inside]
    steps = {c.step for c in used} | {place.born for place, _ in own}
    return {
        step: sum(place.size_bytes for place, end in own if place.born <= step <= end)
        + sum(c.scratch_bytes for c in used if c.step == step)
        for step in sorted(steps)
    }


def peak_bytes(problem: Problem, candidates: Sequence[int], conversions: Sequence[int]) -> int:
    """The most that an answer holds at any step."""
    return max(held_bytes(problem, candidates, conversions).values(), default=0)


def is_over(problem: Problem, candidates: Sequence[int], conversions: Sequence[int]) -> bool:
    """Whether an answer holds more than the memory budget at some step."""
    budget = problem.memory.budget_bytes
    return budget is not None and peak_bytes(problem, candidates, conversions) > budget


class MemoryRows:
    """Rows for some steps: within `most_bytes`, or within a share of it that is a variable.

    With no most, none.
    """

    def __init__(
        self, tables: Derivability, flow: Flow, most_bytes: int | None, share: int | None = None
    ) -> None:
        self._tables, self._problem, self._flow = tables, tables.problem, flow
        self._most_bytes, self._share = most_bytes, share
        self._bounded: set[int] = set()

    def add(self, held: dict[int, int], share: float = 1.0) -> bool:
        """Add rows for steps that hold more than a share of the most, the fullest first.

        False if none does, or all that do have rows: there is nothing to forbid.
        """
        if self._most_bytes is None:
            return False
        over = {s: size for s, size in held.items() if size > share * self._most_bytes}
        new = sorted(over.keys() - self._bounded, key=lambda s: (-over[s], s))
        for step in new[:_AT_ONCE]:
            self._bounded.add(step)
            self._bound(step, self._most_bytes)
        return bool(new)

    def _bound(self, step: int, most_bytes: int) -> None:
        """Keep what is held at a step within the budget."""
        program, places = self._flow.program, self._problem.memory.places
        held = self._held(step)
        scale = max(1, most_bytes)
        terms: list[Term] = []
        for place, h in held.items():
            inside = self._made_within(place)
            own = h
            if inside:
                own = program.variable()
                program.at_most([(h, 1), (own, -1), *((y, -1) for y in inside)], 0)
            terms.append((own, places[place].size_bytes / scale))
        for i, c in enumerate(self._problem.candidates):
            if c.step == step and c.scratch_bytes:
                terms.append((self._flow.candidates[i], c.scratch_bytes / scale))
        high = most_bytes / scale
        if self._share is not None:
            terms, high = [*terms, (self._share, -high)], 0.0
        program.at_most(terms, high)

    def _held(self, step: int) -> dict[int, int]:
        """The variables of the places that can be held at a step."""
        program, places = self._flow.program, self._problem.memory.places
        reasons = self._reasons(step)
        within = [
            (self._flow.candidates[i], made, read)
            for i, c in enumerate(self._problem.candidates)
            for made, read in c.within
            if read is not None and max(places[made].born, places[read].born) <= step
        ]
        reached = set(reasons)
        while more := {read for _, made, read in within if made in reached} - reached:
            reached |= more
        held = {place: program.variable() for place in sorted(reached)}
        for place, sums in reasons.items():
            for terms in sums:
                if terms:
                    program.at_most([*((v, 1) for v in terms), (held[place], -1)], 0)
                else:
                    program.row(1, [(held[place], 1)], 1)
        for y, made, read in within:
            if made in held:
                program.at_most([(held[made], 1), (y, 1), (held[read], -1)], 1)
        return held

    def _reasons(self, step: int) -> dict[int, list[list[int]]]:
        """By place, what holds it at a step: sums of variables that are 1 at most.

        An empty one: it is held in any case.
        """
        problem, places = self._problem, self._problem.memory.places
        found: dict[int, list[list[int]]] = {}
        readers: dict[tuple[int, int], list[int]] = {}
        makers: dict[int, list[int]] = {}
        for i, c in enumerate(problem.candidates):
            y = self._flow.candidates[i]
            first = c.outputs[0][0]
            for place in self._places(c.inputs):
                if places[place].born <= step <= max(places[place].born, c.step):
                    readers.setdefault((place, first), []).append(y)
            for place in self._places(c.outputs):
                if places[place].born == step:
                    makers.setdefault(place, []).append(y)
        for (place, _), terms in readers.items():
            found.setdefault(place, []).append(terms)
        for place, terms in makers.items():
            found.setdefault(place, []).append(terms)
        for demand in problem.demanded:
            for pair in ((demand.tensor, layout) for layout in demand.layouts):
                for place in self._places([pair]):
                    if not places[place].born <= step <= max(places[place].born, demand.until):
                        continue
                    sums = found.setdefault(place, [])
                    sums += [[]] if len(demand.layouts) == 1 else self._arrivals(pair)
        return found

    def _arrivals(self, pair: tuple[int, int]) -> list[list[int]]:
        """What brings about a pair."""
        made = [self._flow.candidates[i] for i in self._tables.makers.get(pair, ())]
        ways = self._tables.arriving.get(pair, ())
        converted = [[self._flow.conversions[i]] for i in ways if i in self._flow.conversions]
        return [*([made] if made else []), *converted]

    def _made_within(self, place: int) -> list[int]:
        """The variables of the candidates that make a place within another one."""
        return [
            self._flow.candidates[i]
            for i, c in enumerate(self._problem.candidates)
            if any(made == place for made, _ in c.within)
        ]

    def _places(self, pairs: Iterable[tuple[int, int]]) -> list[int]:
        """Where pairs lie, each place once."""
        of = self._problem.memory.of
        return list(dict.fromkeys(of[pair] for pair in pairs if pair in of))


def _last_uses(
    problem: Problem, candidates: Sequence[int], conversions: Sequence[int]
) -> dict[int, int]:
    """By place that an answer holds, the last step at which it does."""
    of, places = problem.memory.of, problem.memory.places
    last: dict[int, int] = {}

    def use(pair: tuple[int, int], step: int) -> None:
        if pair in of:
            place = of[pair]
            last[place] = max(last.get(place, step), step, places[place].born)

    there = {p for i in candidates for p in problem.candidates[i].outputs}
    for pair in there:
        use(pair, 0)
    for i in candidates:
        for pair in problem.candidates[i].inputs:
            use(pair, problem.candidates[i].step)
    there |= {(c.tensor, c.target) for c in (problem.conversions[i] for i in conversions)}
    for demand in problem.demanded:
        for layout in demand.layouts:
            if len(demand.layouts) == 1 or (demand.tensor, layout) in there:
                use((demand.tensor, layout), demand.until)
    within = [pair for i in candidates for pair in problem.candidates[i].within]
    changed = True
    while changed:
        changed = False
        for made, read in within:
            if read is not None and last[made] > last.get(read, -1):
                last[read], changed = last[made], True
    return last
