"""The reductions against the oracle: same optimum, and every answer maps back."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from layoutopt.solver import Problem
from layoutopt.solver.exhaustive import solve_exhaustively
from layoutopt.solver.recompute import circular_tensors, required_ops, used_once
from layoutopt.solver.reduce import reduce, restore
from layoutopt.solver.supply import Supply
from tests.property.solver.problems import loose_problems, small_graphs

problems = st.one_of(loose_problems(), small_graphs())


@settings(max_examples=80)
@given(problems)
def test_the_optimum_is_unchanged(problem: Problem) -> None:
    oracle = solve_exhaustively(problem)
    reduced = reduce(problem)
    if reduced is None:
        assert oracle.objective_ns is None
        return
    smaller = solve_exhaustively(reduced.problem)
    assert (smaller.status, smaller.objective_ns) == (oracle.status, oracle.objective_ns)
    if smaller.objective_ns is None:
        return
    candidates, conversions = restore(problem, reduced, smaller.candidates, smaller.conversions)
    tables = Supply(problem)
    assert tables.pruned(candidates, conversions) == (candidates, conversions)
    assert tables.cost_ns(candidates, conversions) == oracle.objective_ns
    budget = problem.weight_budget_bytes
    assert budget is None or tables.size_bytes(conversions) <= budget


@settings(max_examples=80)
@given(problems)
def test_no_reduction_adds_anything(problem: Problem) -> None:
    reduced = reduce(problem)
    if reduced is None:
        return
    for i, candidate in zip(reduced.candidates, reduced.problem.candidates, strict=True):
        original = problem.candidates[i]
        assert (candidate.op, candidate.cost_ns) == (original.op, original.cost_ns)
        assert set(candidate.inputs) <= set(original.inputs)
        assert set(candidate.outputs) <= set(original.outputs)
    for i, conversion in zip(reduced.conversions, reduced.problem.conversions, strict=True):
        assert conversion == problem.conversions[i]


@settings(max_examples=80)
@given(problems)
def test_one_candidate_is_enough_where_that_is_claimed(problem: Problem) -> None:
    oracle = solve_exhaustively(problem)
    if oracle.objective_ns is None:
        return
    once = used_once(problem, circular_tensors(problem))
    required = required_ops(problem)
    assert required <= {problem.candidates[i].op for i in oracle.candidates}
    restricted = _cheapest(problem, once)
    assert restricted == oracle.objective_ns


def _cheapest(problem: Problem, once: frozenset[int]) -> int | None:
    """Return the optimum with at most one candidate of each of these ops, by trying each choice."""
    alternatives = [
        [i for i, c in enumerate(problem.candidates) if c.op == op] for op in sorted(once)
    ]
    best: int | None = None
    for kept in product(*alternatives):
        allowed = [i for i, c in enumerate(problem.candidates) if c.op not in once or i in kept]
        part = Problem(
            problem.tensors,
            problem.given,
            problem.demanded,
            tuple(problem.candidates[i] for i in allowed),
            problem.conversions,
            problem.weight_budget_bytes,
        )
        found = solve_exhaustively(part).objective_ns
        if found is not None and (best is None or found < best):
            best = found
    return best
