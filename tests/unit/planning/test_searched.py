"""What a plan was chosen among is counted, and every limit that was met is told."""

from __future__ import annotations

from functools import partial

import pytest

from layoutopt.candidates import explore
from layoutopt.candidates.saturation import Limits, saturate
from layoutopt.planning.planner import plan_graph
from layoutopt.planning.searched import Searched
from layoutopt.pricing.prices import Analytic
from layoutopt.profiles.target import load_target
from tests.models import CONVOLUTIONS
from tests.parsing import lifted
from tests.planning import setting

HOST = load_target("host")


def searched() -> Searched:
    plan = plan_graph(lifted(CONVOLUTIONS), setting(HOST, Analytic(HOST)))
    assert plan.searched is not None
    return plan.searched


def test_all_candidates_are_accounted_for() -> None:
    found = searched()
    assert found.enumerated == found.priced + found.refused + found.bounded + found.regions
    assert (found.op_limit, found.rounds_ended, found.bounded) == (False, False, 0)
    assert found.tensors > found.cut


def test_tensors_whose_layouts_were_cut_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore, "_MOST", 100)
    assert searched().cut == 0
    monkeypatch.setattr(explore, "_MOST", 2)
    assert searched().cut > 0


def test_rewriting_that_stopped_at_its_limit_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(explore, "saturate", partial(saturate, limits=Limits(ops=3)))
    assert searched().op_limit
