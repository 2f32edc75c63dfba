"""Re-check an answer from the definition alone: no solver, no table shared with one."""

from layoutopt.solver.problem import Candidate, Pair, Problem
from layoutopt.solver.solution import Solution, Status


def check(problem: Problem, solution: Solution) -> list[str]:
    """Return everything that is wrong with `solution`, in words; an empty list if nothing is.

    An INFEASIBLE or UNKNOWN solution must be empty; whether it is true is not checked.
    """
    if solution.status in (Status.INFEASIBLE, Status.UNKNOWN):
        empty = (
            not solution.candidates and not solution.conversions and solution.objective_ns is None
        )
        return [] if empty else [f"solution: {solution.status.name}, but it holds an answer"]
    wrong = _indices("candidate", solution.candidates, len(problem.candidates))
    wrong += _indices("conversion", solution.conversions, len(problem.conversions))
    if wrong:
        return wrong
    return (
        unmet(problem, solution.candidates, solution.conversions)
        + _unused(problem, solution)
        + _budget(problem, solution)
        + _memory(problem, solution)
        + _objective(problem, solution)
    )


def unmet(problem: Problem, candidates: tuple[int, ...], conversions: tuple[int, ...]) -> list[str]:
    """Return what keeps candidates and conversions from being a plan, in words."""
    return _made_once(problem, candidates) + _computable(problem, candidates, conversions)


def _indices(kind: str, indices: tuple[int, ...], count: int) -> list[str]:
    wrong = [f"{kind} {i}: there are only {count}" for i in indices if not 0 <= i < count]
    if list(indices) != sorted(set(indices)):
        wrong.append(f"{kind}s: not ascending, or one twice")
    return wrong


def _native(problem: Problem, candidates: tuple[int, ...]) -> set[Pair]:
    made = (pair for i in candidates for pair in problem.candidates[i].outputs)
    return {*problem.given, *made}


def _made_once(problem: Problem, candidates: tuple[int, ...]) -> list[str]:
    makers: dict[int, list[int]] = {}
    for i in candidates:
        for tensor in sorted({tensor for tensor, _ in problem.candidates[i].outputs}):
            makers.setdefault(tensor, []).append(i)
    return [
        f"tensor {tensor}: made twice, by candidates {made[0]} and {made[1]}"
        for tensor, made in sorted(makers.items())
        if len(made) > 1
    ]


def _computable(
    problem: Problem, candidates: tuple[int, ...], conversions: tuple[int, ...]
) -> list[str]:
    """Find unmet inputs and demands, conversions from nowhere, and circles."""
    claimed = _native(problem, candidates)
    arrivals = set(claimed)
    wrong = []
    for i in conversions:
        c = problem.conversions[i]
        arrivals.add((c.tensor, c.target))
        if (c.tensor, c.source) not in claimed:
            wrong.append(f"conversion {i}: nothing makes tensor {c.tensor} in layout {c.source}")
    for i in candidates:
        for tensor, layout in problem.candidates[i].inputs:
            if (tensor, layout) not in arrivals:
                wrong.append(f"candidate {i}: tensor {tensor} is not there in layout {layout}")
    for i, demand in enumerate(problem.demanded):
        if not any((demand.tensor, layout) in arrivals for layout in demand.layouts):
            wrong.append(f"demand {i}: tensor {demand.tensor} is not there in any of its layouts")
    if wrong:
        return wrong

    native = set(problem.given)
    waiting = list(candidates)
    while True:  # all that is asked for is claimed; now compute it, in passes
        present = native | {
            (c.tensor, c.target)
            for c in (problem.conversions[i] for i in conversions)
            if (c.tensor, c.source) in native
        }
        runs = [i for i in waiting if all(p in present for p in problem.candidates[i].inputs)]
        if not runs:
            break
        native.update(pair for i in runs for pair in problem.candidates[i].outputs)
        waiting = [i for i in waiting if i not in runs]
    return [f"candidate {i}: waits for itself in a circle" for i in waiting]


def _unused(problem: Problem, solution: Solution) -> list[str]:
    """Find candidates none of whose outputs is wanted, and conversions whose target is not."""
    wanted = {pair for i in solution.candidates for pair in problem.candidates[i].inputs}
    wanted |= {(d.tensor, layout) for d in problem.demanded for layout in d.layouts}
    wrong = []
    for i in solution.conversions:
        c = problem.conversions[i]
        if (c.tensor, c.target) not in wanted:
            wrong.append(f"conversion {i}: no demand for what it makes")
    wanted |= {(c.tensor, c.source) for c in (problem.conversions[i] for i in solution.conversions)}
    for i in solution.candidates:
        if wanted.isdisjoint(problem.candidates[i].outputs):
            wrong.append(f"candidate {i}: no demand for what it makes")
    return wrong


def _budget(problem: Problem, solution: Solution) -> list[str]:
    budget = problem.weight_budget_bytes
    spent = sum(problem.conversions[i].size_bytes for i in solution.conversions)
    if budget is None or spent <= budget:
        return []
    return [f"conversions: {spent} bytes, over the weight budget of {budget} bytes"]


def _memory(problem: Problem, solution: Solution) -> list[str]:
    """Find steps at which more is held than may be."""
    budget, of, places = problem.memory.budget_bytes, problem.memory.of, problem.memory.places
    if budget is None:
        return []
    used = [problem.candidates[i] for i in solution.candidates]
    converted = [problem.conversions[i] for i in solution.conversions]
    there = {pair for c in used for pair in c.outputs} | {(c.tensor, c.target) for c in converted}
    made = {of[pair] for c in used for pair in c.outputs if pair in of}
    inside = {place for c in used for place, _ in c.within}
    demanded = [
        (of[d.tensor, layout], d.until)
        for d in problem.demanded
        for layout in d.layouts
        if (d.tensor, layout) in of and (len(d.layouts) == 1 or (d.tensor, layout) in there)
    ]

    def is_held(place: int, step: int) -> bool:
        born = places[place].born
        read = any(of.get(pair) == place and step <= c.step for c in used for pair in c.inputs)
        around = any(
            is_held(made_there, step) for c in used for made_there, it in c.within if it == place
        )
        kept = any(it == place and step <= max(born, until) for it, until in demanded)
        waits = step == born and (place in made or _is_read(problem, place, used))
        return step >= born and (read or around or kept or waits)

    steps = sorted({c.step for c in used} | {place.born for place in places})
    wrong = []
    for step in steps:
        held = [m for m in range(len(places)) if m not in inside and is_held(m, step)]
        size = sum(places[m].size_bytes for m in held)
        size += sum(c.scratch_bytes for c in used if c.step == step)
        if size > budget:
            wrong.append(f"step {step}: {size} bytes held, over the memory budget of {budget}")
    return wrong


def _is_read(problem: Problem, place: int, used: list[Candidate]) -> bool:
    return any(problem.memory.of.get(pair) == place for c in used for pair in c.inputs)


def _objective(problem: Problem, solution: Solution) -> list[str]:
    cost_ns = sum(problem.candidates[i].cost_ns for i in solution.candidates)
    cost_ns += sum(problem.conversions[i].cost_ns for i in solution.conversions)
    objective_ns, bound_ns = solution.objective_ns, solution.bound_ns
    if objective_ns != cost_ns:
        return [f"objective: {objective_ns} ns claimed, the costs add up to {cost_ns} ns"]
    if bound_ns > cost_ns:
        return [f"bound: {bound_ns} ns is above the objective of {cost_ns} ns"]
    if (solution.status is Status.OPTIMAL) != (bound_ns == cost_ns):
        return [f"status: {solution.status.name} with a bound of {bound_ns} of {cost_ns} ns"]
    gap = (cost_ns - bound_ns) / cost_ns if cost_ns else 0.0
    if solution.gap is None or abs(solution.gap - gap) > 1e-12:
        return [f"gap: {solution.gap} claimed, it is {gap}"]
    return []
