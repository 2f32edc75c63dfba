"""Many graphs through IREE, batch by batch."""

from __future__ import annotations

import time
from collections.abc import Sequence

from layoutopt.profiles.target import Target, load_target
from tests.fuzz.held import Bug
from tests.fuzz.kinds import KINDS
from tests.fuzz.oracle_run import Failure
from tests.fuzz.program import Program, Written, write
from tests.fuzz.settings import Settings, graph
from tests.fuzz.shrink import shrunk
from tests.fuzz.through_iree import Tally, hold_batch

BATCH = 24
SHRINK_S = 120.0


def run_iree(settings: Settings) -> tuple[Tally, list[Failure]]:
    """Hold batches until time or graphs run out; the failures, one of each kind, shrunk."""
    target, tally = load_target("host"), Tally()
    deadline = time.monotonic() + settings.seconds
    first: dict[tuple[str, str], tuple[int, Written, Bug]] = {}
    number, most = 0, settings.models
    while time.monotonic() < deadline and (most is None or number < most):
        count = BATCH if most is None else min(BATCH, most - number)
        batch = [graph(settings.seed, n) for n in range(number, number + count)]
        bugs, part = hold_batch(batch, settings.plans, target, str(settings.seed))
        tally.add(part)
        for written, bug in bugs:
            place = number + [w.name for w in batch].index(written.name)
            first.setdefault((bug.kind, bug.where), (place, written, bug))
        number += count
    failures = [_smallest(settings, target, *found) for found in first.values()]
    return tally, failures


def _smallest(
    settings: Settings, target: Target, number: int, whole: Written, bug: Bug
) -> Failure:
    """Shrink one graph, alone in its module."""

    def fails(program: Program) -> Written | None:
        written = write(program, whole.name, KINDS)
        found = _bugs(settings, target, written)
        return written if any((b.kind, b.where) == (bug.kind, bug.where) for b in found) else None

    small = shrunk(whole, fails, SHRINK_S)
    left = [b for b in _bugs(settings, target, small) if (b.kind, b.where) == (bug.kind, bug.where)]
    return Failure(settings.seed, number, left[0] if left else bug, small, "--iree-only")


def _bugs(settings: Settings, target: Target, written: Written) -> Sequence[Bug]:
    found, _ = hold_batch([written], settings.plans, target, str(settings.seed))
    return [bug for _, bug in found]
