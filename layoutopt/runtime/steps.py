"""The steps of a run, for display."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from layoutopt.runtime.progress import Progress, Silent


class Steps(Protocol):
    """Callbacks of one optimization."""

    def step(self, name: str) -> None:
        """A stage begins."""

    @property
    def progress(self) -> Progress:
        """For the measuring inside the stage."""


class SilentSteps:
    """Shows nothing."""

    def step(self, name: str) -> None:
        """Ignore it."""

    @property
    def progress(self) -> Progress:
        """Shows nothing either."""
        return Silent()


class Clock:
    """Seconds by stage, in the order of their beginning."""

    def __init__(self, steps: Steps) -> None:
        self.steps = steps
        self.seconds: dict[str, float] = {}

    @contextmanager
    def stage(self, name: str) -> Iterator[Progress]:
        """Time what happens inside."""
        self.steps.step(name)
        start = time.perf_counter()
        try:
            yield self.steps.progress
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
