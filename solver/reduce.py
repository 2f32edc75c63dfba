"""Exact reductions: a smaller problem with the same optimum, and the way back.

In this order, the middle three until nothing changes:

1. A copy that alone is over the weight budget goes; a budget that all others keep is not a budget.
2. An input or demand that is given, or converts for free from what is given, is met already.
3. What cannot be computed from the given pairs by all candidates together goes.
4. What the demands cannot lead back to goes: candidates and conversions.
5. A candidate goes if another of its tensors needs no more, makes no less and costs no more; and
   holds no more, where memory is bounded. A conversion goes if one of its target from a given
   layout costs no more.

None of them makes a circle out of an answer without one: 5 only takes needs away.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace

from layoutopt.solver.derivability import Derivability
from layoutopt.solver.problem import Candidate, Conversion, Demand, Pair, Problem


@dataclass(frozen=True, slots=True)
class Reduced:
    """A smaller problem; its candidate i is the original's `candidates[i]`; so for conversions.

    `free` are the conversions of the original that cost neither time nor budget.
    """

    problem: Problem
    candidates: tuple[int, ...]
    conversions: tuple[int, ...]
    free: tuple[int, ...]

    def keep(
        self, candidate: Callable[[int], bool], conversion: Callable[[int], bool]
    ) -> "Reduced":
        """Return the problem with only the candidates and conversions that are to be kept."""
        cs = [i for i in range(len(self.candidates)) if candidate(i)]
        vs = [i for i in range(len(self.conversions)) if conversion(i)]
        return Reduced(
            replace(
                self.problem,
                candidates=tuple(self.problem.candidates[i] for i in cs),
                conversions=tuple(self.problem.conversions[i] for i in vs),
            ),
            tuple(self.candidates[i] for i in cs),
            tuple(self.conversions[i] for i in vs),
            self.free,
        )


def reduce(original: Problem) -> Reduced | None:
    """Return an equivalent smaller problem, or None if nothing can meet some demand."""
    reduced = _without_met_inputs(_without_loose_budget(original))
    size = None
    while size != (size := _size(reduced.problem)):
        computable = _without_uncomputable(reduced)
        if computable is None:
            return None
        reduced = _without_dominated(_without_undemanded(computable))
    return reduced


def restore(
    original: Problem, reduced: Reduced, candidates: Iterable[int], conversions: Iterable[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Map an answer of the reduced problem back to the original one.

    Adds the free conversions that the reduced problem took for granted. Raises ValueError if the
    answer does not meet the demands.
    """
    used = {reduced.conversions[i] for i in conversions}
    used.update(reduced.free)
    answer = Derivability(original).pruned((reduced.candidates[i] for i in candidates), used)
    if answer is None:
        raise ValueError("restore: expected an answer, but got unmet demands; solve again")
    return answer


def _without_loose_budget(original: Problem) -> Reduced:
    budget = original.weight_budget_bytes
    sizes = [c.size_bytes for c in original.conversions]
    fits = [i for i, size in enumerate(sizes) if budget is None or size <= budget]
    if budget is not None and sum(sizes[i] for i in fits) <= budget:
        budget = None
    problem = replace(
        original,
        weight_budget_bytes=budget,
        conversions=tuple(original.conversions[i] for i in fits),
    )
    free = Derivability(problem).is_free
    return Reduced(
        problem,
        tuple(range(len(problem.candidates))),
        tuple(fits),
        tuple(i for j, i in enumerate(fits) if free(j)),
    )


def _size(problem: Problem) -> tuple[int, int, int]:
    pairs = sum(len(c.inputs) + len(c.outputs) for c in problem.candidates)
    return len(problem.candidates), len(problem.conversions), pairs


def _without_met_inputs(reduced: Reduced) -> Reduced:
    problem = reduced.problem
    tables = Derivability(problem)
    met = set(problem.given)
    for i, c in enumerate(problem.conversions):
        if (c.tensor, c.source) in problem.given and tables.is_free(i):
            met.add((c.tensor, c.target))

    def rest(candidate: Candidate) -> Candidate:
        inputs = tuple(p for p in dict.fromkeys(candidate.inputs) if p not in met)
        return replace(candidate, inputs=inputs, outputs=tuple(dict.fromkeys(candidate.outputs)))

    unmet = tuple(d for d in problem.demanded if not any((d.tensor, x) in met for x in d.layouts))
    reduced = replace(
        reduced,
        problem=replace(
            problem, demanded=unmet, candidates=tuple(rest(c) for c in problem.candidates)
        ),
    )
    conversions = reduced.problem.conversions
    return reduced.keep(
        lambda i: True, lambda i: (conversions[i].tensor, conversions[i].target) not in met
    )


def _without_uncomputable(reduced: Reduced) -> Reduced | None:
    problem = reduced.problem
    found = Derivability(problem).derive(
        range(len(problem.candidates)), range(len(problem.conversions))
    )
    demanded: list[Demand] = []
    for demand in problem.demanded:
        layouts = tuple(x for x in demand.layouts if (demand.tensor, x) in found.arrived)
        if not layouts:
            return None
        demanded.append(replace(demand, layouts=layouts))
    ran = set(found.ran)
    reduced = replace(reduced, problem=replace(problem, demanded=tuple(demanded)))
    return reduced.keep(
        ran.__contains__,
        lambda i: (problem.conversions[i].tensor, problem.conversions[i].source) in found.native,
    )


def _without_undemanded(reduced: Reduced) -> Reduced:
    problem = reduced.problem
    tables = Derivability(problem)
    wanted: set[Pair] = set()  # may be demanded in this very layout
    native: set[Pair] = set()  # it, or a conversion of it, may be demanded
    stack = [(d.tensor, layout) for d in problem.demanded for layout in d.layouts]
    while stack:
        pair = stack.pop()
        if pair in wanted:
            continue
        wanted.add(pair)
        arriving = (problem.conversions[i] for i in tables.arriving.get(pair, ()))
        for source in (pair, *((c.tensor, c.source) for c in arriving)):
            if source not in native:
                native.add(source)
                for i in tables.makers.get(source, ()):
                    stack.extend(problem.candidates[i].inputs)

    def lands(c: Conversion) -> bool:
        return (c.tensor, c.target) in wanted

    useful = [not native.isdisjoint(c.outputs) for c in problem.candidates]
    return reduced.keep(useful.__getitem__, lambda i: lands(problem.conversions[i]))


def _made(problem: Problem, c: Candidate) -> Hashable:
    """What only candidates that make the same can dominate in."""
    if problem.memory.budget_bytes is None:
        return frozenset(t for t, _ in c.outputs)
    return frozenset(c.outputs), c.step, c.within


def _scratch(problem: Problem, c: Candidate) -> int:
    return 0 if problem.memory.budget_bytes is None else c.scratch_bytes


def _without_dominated(reduced: Reduced) -> Reduced:
    problem = reduced.problem
    alternatives: dict[Hashable, list[int]] = {}  # by what they make, and how that lies in memory
    for i, candidate in enumerate(problem.candidates):
        alternatives.setdefault(_made(problem, candidate), []).append(i)
    kept: set[int] = set()
    for indices in alternatives.values():
        best: list[tuple[set[Pair], set[Pair], int]] = []  # cheapest first: only these can dominate
        for i in sorted(indices, key=lambda i: (problem.candidates[i].cost_ns, i)):
            made = problem.candidates[i]
            inputs, outputs, scratch = set(made.inputs), set(made.outputs), _scratch(problem, made)
            if not any(a <= inputs and b >= outputs and s <= scratch for a, b, s in best):
                best.append((inputs, outputs, scratch))
                kept.add(i)

    routes: dict[Pair, list[tuple[int, int, int]]] = {}  # from given layouts only
    for i, c in enumerate(problem.conversions):
        if (c.tensor, c.source) in problem.given:
            routes.setdefault((c.tensor, c.target), []).append((c.cost_ns, c.size_bytes, i))

    def beaten(i: int) -> bool:
        c = problem.conversions[i]
        mine = (c.cost_ns, c.size_bytes, i)
        given = (c.tensor, c.source) in problem.given
        return any(
            cost_ns <= mine[0]
            and size_bytes <= mine[1]
            and (not given or (cost_ns, size_bytes, j) < mine)
            for cost_ns, size_bytes, j in routes.get((c.tensor, c.target), ())
            if j != i
        )

    return reduced.keep(kept.__contains__, lambda i: not beaten(i))
