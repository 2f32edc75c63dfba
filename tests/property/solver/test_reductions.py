"""The reductions against the oracle: same optimum, and every answer maps back."""

from hypothesis import given, settings
from hypothesis import strategies as st

from layoutopt.solver import Problem
from layoutopt.solver.derivability import Derivability
from layoutopt.solver.exhaustive import solve_exhaustively
from layoutopt.solver.reduce import reduce, restore
from tests.property.solver.problems import loose_problems, small_graphs, with_memory
from tests.property.solver.rewritten import rewritten_graphs

problems = st.one_of(loose_problems(), small_graphs(), rewritten_graphs())
problems = st.one_of(problems, st.builds(with_memory, problems, st.integers(0, 1_000_000)))


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
    tables = Derivability(problem)
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
        assert set(candidate.outputs) == set(original.outputs)
    for i, conversion in zip(reduced.conversions, reduced.problem.conversions, strict=True):
        assert conversion == problem.conversions[i]
