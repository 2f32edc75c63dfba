"""Random consistent selections: what the solver takes under prices made up at random."""

from __future__ import annotations

import random
from collections.abc import Sequence

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import is_free, needed_conversions
from layoutopt.candidates.explore import Space
from layoutopt.candidates.form import Form
from layoutopt.ir.layout import Layout
from layoutopt.ir.lowered import Lowered
from layoutopt.lowering.lower import lower, packs_lowered
from layoutopt.planning.free_io import chosen_io, free_inputs, free_outputs, with_one_input_layout
from layoutopt.planning.selection import build_selection
from layoutopt.solver import Search, Status, check, solve

DEAR = 1000
LIMIT_S = 10.0
GREEDY_OFTEN: tuple[Search, ...] = (Search.GREEDY, Search.GREEDY, Search.GREEDY, Search.ILP)


def random_plan(
    space: Space, candidates: Sequence[Candidate], rng: random.Random, free_io: bool
) -> tuple[Lowered, dict[int, Layout]]:
    """A plan under random prices, and the layouts of inputs and outputs that it chose.

    Conversions are cheap in one plan and dear in the next: so some plans hold many of them.
    Identity candidates are dear, that all else may win.
    """
    graph, clusters = space.egraph.graph, space.clusters
    costs = {c: _price(c, rng) for c in candidates}
    free = (*free_inputs(graph), *free_outputs(graph)) if free_io else ()
    needed = needed_conversions(graph, clusters, tuple(costs), free)
    dear = rng.choice((1, 30, DEAR))
    changes = {c: 0 if is_free(graph, c) else rng.randint(1, dear) for c in needed}
    selection = build_selection(graph, clusters, costs, changes, free)
    solution = solve(selection.problem, rng.choice(GREEDY_OFTEN), LIMIT_S)
    if solution.status is Status.UNKNOWN:  # greedy walks into dead ends
        solution = solve(selection.problem, Search.ILP, LIMIT_S)
    assert solution.status in (Status.OPTIMAL, Status.FEASIBLE), solution.status
    problems = check(selection.problem, solution)
    assert not problems, problems
    choice = selection.choice(solution.candidates, solution.conversions)
    io: dict[int, Layout] = {}
    if free_io:
        io = chosen_io(graph, clusters, choice)
        choice = with_one_input_layout(graph, clusters, choice, io)
    lowered = lower(graph, clusters, choice, io)
    return (packs_lowered(lowered) if rng.random() < 0.3 else lowered), io


def _price(candidate: Candidate, rng: random.Random) -> int:
    plain = all(layout.is_row_major for _, layout in candidate.layouts)
    return rng.randint(DEAR // 2 if plain and candidate.form is Form.AS_IT_CAME else 1, DEAR)
