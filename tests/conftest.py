"""Hypothesis profiles for the whole suite, and what is collected once."""

import gc
import os

import pytest
from hypothesis import settings

# Machines that check changes are slow and shared: no deadlines, and the same examples every time.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")


def pytest_collection_finish(session: pytest.Session) -> None:
    """What is collected stays: to look for garbage in it takes a twentieth of the time."""
    gc.collect()
    gc.freeze()


def pytest_unconfigure() -> None:
    """Else bindings to C++ call what was collected leaked."""
    gc.unfreeze()
