"""A fixed budget of the fuzzer: fixed seeds, so that it says the same every time."""

from __future__ import annotations

import pytest

from tests.fuzz.coverage import wanted
from tests.fuzz.iree_run import run_iree
from tests.fuzz.oracle_run import run_oracle
from tests.fuzz.settings import Settings
from tests.marks import long

UNBOUNDED_S = 3600.0


def test_graphs_hold_to_the_oracle() -> None:
    total, failures = run_oracle(Settings(UNBOUNDED_S, seed=35, plans=2, models=60, jobs=1))
    assert [failure.bug for failure in failures] == []
    assert total.graphs == 60


@pytest.mark.long
def test_many_graphs_hold_to_the_oracle_and_reach_everything() -> None:
    total, failures = run_oracle(Settings(UNBOUNDED_S, seed=35, plans=2, models=400, jobs=1))
    assert [failure.bug for failure in failures] == []
    assert [name for name in wanted() if not total.seen[name]] == []
    assert total.graphs == 400


def test_plans_compute_the_same_through_iree() -> None:
    tally, failures = run_iree(Settings(UNBOUNDED_S, seed=4, plans=2, models=6, jobs=1))
    assert [failure.bug for failure in failures] == []
    assert not tally.refused_plans
    assert tally.originals == 6
    assert tally.plans >= 9


@pytest.mark.parametrize(("graphs", "least"), [(2, 1), long(20, 8)])
def test_plans_of_open_sizes_compute_the_same_through_iree(graphs: int, least: int) -> None:
    """``least``: of the originals, that IREE compiles."""
    settings = Settings(UNBOUNDED_S, seed=3, plans=2, models=graphs, jobs=1, open_sizes=True)
    tally, failures = run_iree(settings)
    assert [failure.bug for failure in failures] == []
    assert not tally.refused_plans
    assert tally.originals >= least
    assert tally.plans == 2 * tally.originals
