from __future__ import annotations

import os
import sys

import pytest

from layoutopt.runtime.caller import caller_that_gives_way

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="scheduling by thread is Linux's")


def _policy() -> int:
    return os.sched_getscheduler(0)


def _priority() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


def test_only_the_caller_gives_way() -> None:
    before = _policy()
    with caller_that_gives_way() as caller:
        assert caller.submit(_policy).result() == os.SCHED_IDLE
    assert _policy() == before


def test_where_the_policy_may_not_be_changed_it_has_the_lowest_priority(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", refused)
    before = _priority()
    with caller_that_gives_way() as caller:
        assert caller.submit(_priority).result() == 19
    assert _priority() == before
