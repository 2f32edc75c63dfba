"""The exact search: reduce, split, solve the flow form, cut circles and full memory, map back."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from layoutopt.solver.cycles import cuts
from layoutopt.solver.derivability import Derivability
from layoutopt.solver.flow import Flow, build
from layoutopt.solver.greedy import solve_greedy
from layoutopt.solver.joints import Part, solve_pieces
from layoutopt.solver.landmarks import landmarks
from layoutopt.solver.memory import MemoryRows, held_bytes, is_over
from layoutopt.solver.pieces import pieces
from layoutopt.solver.problem import Pair, Problem
from layoutopt.solver.program import ProgramSolution, Relaxed, Term
from layoutopt.solver.reduce import Reduced, reduce, restore
from layoutopt.solver.solution import Solution, Status, StopReason, answer, no_answer

_FIRST_REACH = 1e-5  # of the relaxation's bound: enough for a good answer early
_SMALLEST_REACH_NS = 1_000.0
_LANDMARK_ROUNDS = 20
_WIDER = 10.0  # times the reach, at most, from one round to the next
_ROUNDING_NS = 1e-3
LARGE = 2_000
"""Candidates above which a problem is solved in pieces: a smaller one is as fast as a whole."""
SMALLEST = 200
"""Candidates of a piece: each is solved once for each layout of a joint."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The best answer, in the reduced problem, and what bounds every answer."""

    chosen: tuple[list[int], list[int]] | None
    cost_ns: float
    bound_ns: int
    stop_reason: StopReason
    infeasible: bool = False


def solve_ilp(
    problem: Problem, time_limit_s: float = 60.0, warm: Solution | None = None, gap: float = 0.0
) -> Solution:
    """Return the cheapest answer, or the best one known when the time is up.

    `warm` is an answer of another search, returned where nothing better was found in time. `gap`:
    how far from the cheapest an answer may be, relative to it, that is good enough.
    """
    start = time.perf_counter()
    reduced = reduce(problem)
    if reduced is None:
        return no_answer(Status.INFEASIBLE, time.perf_counter() - start, StopReason.PROVED)
    found = _in_pieces(reduced.problem, start + time_limit_s)
    found = found or _search(reduced, start + time_limit_s, gap)
    if found.infeasible:
        return no_answer(Status.INFEASIBLE, time.perf_counter() - start, StopReason.PROVED)
    tables = Derivability(problem)
    answers = []
    if found.chosen is not None:
        answers.append(restore(problem, reduced, *found.chosen))
    if warm is not None and warm.objective_ns is not None:
        answers.append((warm.candidates, warm.conversions))
    seconds = time.perf_counter() - start
    if not answers:
        return no_answer(Status.UNKNOWN, seconds, found.stop_reason)
    best = min(answers, key=lambda a: tables.cost_ns(*a))
    return answer(*best, tables.cost_ns(*best), found.bound_ns, seconds, found.stop_reason)


def _in_pieces(problem: Problem, deadline: float) -> _Found | None:
    """The answer by those of pieces, where a large problem falls into some; None elsewhere.

    Pieces are solved to the end: where answers are a little off, equal pieces are so no longer.
    """
    budgets = (problem.weight_budget_bytes, problem.memory.budget_bytes)
    if len(problem.candidates) < LARGE or budgets != (None, None):
        return None
    parts = pieces(problem, SMALLEST)
    if not parts.joints:
        return None
    ends: set[StopReason] = set()

    def solve(piece: Problem) -> Part | None:
        reduced = reduce(piece)
        if reduced is None:
            return None
        found = _search(reduced, deadline, 0.0)
        if found.infeasible:
            return None
        ends.add(found.stop_reason)
        if found.chosen is None:
            greedy = solve_greedy(piece)
            if greedy.objective_ns is None:
                raise TimeoutError
            return Part(greedy.candidates, greedy.conversions, greedy.objective_ns, found.bound_ns)
        chosen = restore(piece, reduced, *found.chosen)
        cost_ns = Derivability(piece).cost_ns(*chosen)
        return Part(*chosen, cost_ns, min(found.bound_ns, cost_ns))

    try:
        whole = solve_pieces(problem, parts, solve)
    except TimeoutError:
        return _Found(None, math.inf, 0, StopReason.TIME_LIMIT)
    if whole is None:
        return _Found(None, math.inf, 0, StopReason.PROVED, infeasible=True)
    chosen = list(whole.candidates), list(whole.conversions)
    reason = next((r for r in _WORST_FIRST if r in ends), StopReason.PROVED)
    return _Found(chosen, whole.cost_ns, whole.bound_ns, reason)


_WORST_FIRST = (StopReason.TIME_LIMIT, StopReason.NUMERICS)


def _search(reduced: Reduced, deadline: float, gap: float) -> _Found:
    """Solve near the linear relaxation, then as far from it as the answer found there demands.

    A relaxation without fractions is the answer. An answer that uses a variable costs at least the
    relaxation's bound plus its reduced cost. So variables beyond `reach_ns` are left out; an answer
    within the reach is proved against them.
    A circular answer, or one that holds too much at some steps, is forbidden, and the same solved
    again.
    """
    if not reduced.problem.demanded:
        return _Found(([], []), 0, 0, StopReason.PROVED)
    flow = build(reduced.problem)
    tables = Derivability(reduced.problem)
    memory = MemoryRows(tables, flow, reduced.problem.memory.budget_bytes)
    relaxed = _relaxed(tables, flow, deadline)
    floor, costs = _bounded(flow, relaxed)
    whole = flow.program.whole(relaxed)
    reach_ns = max(_SMALLEST_REACH_NS, floor * _FIRST_REACH)
    best = _Found(None, math.inf, _ceil_ns(floor), StopReason.TIME_LIMIT)
    while (left_s := deadline - time.perf_counter()) > 0:
        keep = [cost <= reach_ns for cost in costs]
        horizon = math.inf if all(keep) else floor + reach_ns
        outcome = whole or flow.program.solve(left_s, keep, gap)
        if outcome.infeasible:
            if all(keep):
                return replace(best, stop_reason=StopReason.PROVED, infeasible=True)
            reach_ns *= _WIDER
            continue
        best = replace(best, bound_ns=max(best.bound_ns, _ceil_ns(min(outcome.bound, horizon))))
        chosen = chosen_of(tables, flow, outcome)
        if chosen is None:
            reason = StopReason.TIME_LIMIT if outcome.timed_out else StopReason.NUMERICS
            return replace(best, stop_reason=reason)
        broken = forbidden(tables, flow, *chosen)
        if broken or memory.add(held_bytes(tables.problem, *chosen)):
            relaxed = flow.program.relax(deadline - time.perf_counter())
            floor, costs = _bounded(flow, relaxed)
            whole = flow.program.whole(relaxed)
            best = replace(best, bound_ns=max(best.bound_ns, _ceil_ns(floor)))
            continue
        cost_ns = tables.cost_ns(*chosen)
        if cost_ns < best.cost_ns and not is_over(tables.problem, *chosen):
            best = replace(best, chosen=chosen, cost_ns=cost_ns)
        if outcome.timed_out:
            break
        if best.cost_ns - best.bound_ns <= gap * best.cost_ns:
            return replace(best, stop_reason=StopReason.CLOSE)
        if whole is not None:
            whole = None
            continue
        if cost_ns <= horizon:
            return replace(best, stop_reason=StopReason.NUMERICS)
        reach_ns = min(best.cost_ns - floor + 1, reach_ns * _WIDER)
    return best


def _bounded(flow: Flow, relaxed: Relaxed | None) -> tuple[float, Sequence[float]]:
    """What every answer costs, and how much more one with a variable; without a relaxation: 0."""
    if relaxed is None:
        return 0.0, [0.0] * len(flow.program.costs)
    return max(0.0, relaxed.bound), relaxed.reduced_costs


def _relaxed(tables: Derivability, flow: Flow, deadline: float) -> Relaxed | None:
    """The relaxation, with the landmarks that it breaks as rows of the program."""
    found: Relaxed | None = None
    for _ in range(_LANDMARK_ROUNDS):
        left_s = deadline - time.perf_counter()
        relaxed = flow.program.relax(left_s) if left_s > 0 else None
        if relaxed is None:
            break
        found = relaxed
        rows = landmarks(tables, flow, relaxed.values)
        for terms in rows:
            flow.program.at_most(terms, 0)
        if not rows:
            break
    return found


def _ceil_ns(bound_ns: float) -> int:
    """Round a bound up, since costs are whole; 41.0001 proves 42, 41.0000001 may be 41."""
    return max(0, math.ceil(bound_ns - _ROUNDING_NS)) if math.isfinite(bound_ns) else 0


def chosen_of(
    tables: Derivability, flow: Flow, outcome: ProgramSolution
) -> tuple[list[int], list[int]] | None:
    """Return the candidates that the outcome uses, and conversions to match, the free ones too."""
    values = outcome.values
    if values is None:
        return None
    problem = tables.problem
    candidates = [i for i, v in enumerate(flow.candidates) if values[v] > 0.5]
    native = {*problem.given, *(p for i in candidates for p in problem.candidates[i].outputs)}
    conversions = {i for i in range(len(problem.conversions)) if tables.is_free(i)}
    conversions.update(i for i in flow.integer if values[flow.conversions[i]] > 0.5)
    needed = [pair for i in candidates for pair in problem.candidates[i].inputs]
    needed += [(d.tensor, x) for d in problem.demanded if len(d.layouts) == 1 for x in d.layouts]
    for pair in needed:
        way = _cheapest_way(tables, pair, native, conversions)
        if way is not None:
            conversions.add(way)
    return candidates, sorted(conversions)


def _cheapest_way(
    tables: Derivability, pair: Pair, native: set[Pair], used: set[int]
) -> int | None:
    """Return the conversion to add for `pair`; None if it is there already, or cannot come."""
    if pair in native:
        return None
    conversions = tables.problem.conversions
    ways = [
        (conversions[i].cost_ns, i)
        for i in tables.arriving.get(pair, ())
        if (pair[0], conversions[i].source) in native
    ]
    if not ways or any(i in used for _, i in ways):
        return None
    return min(ways)[1]


def forbidden(
    tables: Derivability, flow: Flow, candidates: list[int], conversions: list[int]
) -> bool:
    """Forbid an answer that is circular or over the weight budget; whether it is."""
    rows = _broken_rows(tables, flow, candidates, conversions)
    for terms, high in rows:
        flow.program.at_most(terms, high)
    return bool(rows)


def _broken_rows(
    tables: Derivability, flow: Flow, candidates: list[int], conversions: list[int]
) -> list[tuple[list[Term], float]]:
    """Return rows that every answer keeps and this one breaks."""
    found = tables.derive(candidates, conversions)
    rows = [(terms, 0.0) for terms in cuts(tables, flow, candidates, conversions, found)]
    budget = tables.problem.weight_budget_bytes
    if budget is not None and tables.size_bytes(conversions) > budget:
        paid = [i for i in conversions if not tables.is_free(i) and tables.size_bytes((i,))]
        rows.append(([(flow.conversions[i], 1) for i in paid], len(paid) - 1.0))
    return rows
