from __future__ import annotations

import os
import sys

import pytest

from layoutopt.runtime.caller import NICER, caller_that_gives_way


def _priority() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="priorities of threads are Linux's")
def test_only_the_caller_gives_way() -> None:
    before = _priority()
    with caller_that_gives_way() as caller:
        assert caller.submit(_priority).result() == min(before + NICER, 19)
    assert _priority() == before
