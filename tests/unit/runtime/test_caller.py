from __future__ import annotations

import os
import sys

import pytest

from layoutopt.runtime.caller import caller_that_gives_way


def _policy() -> int:
    return os.sched_getscheduler(0)


@pytest.mark.skipif(sys.platform != "linux", reason="scheduling by thread is Linux's")
def test_only_the_caller_gives_way() -> None:
    before = _policy()
    with caller_that_gives_way() as caller:
        assert caller.submit(_policy).result() == os.SCHED_IDLE
    assert _policy() == before
