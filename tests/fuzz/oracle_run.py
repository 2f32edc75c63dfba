"""Many graphs compared with the oracle, spread over processes."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from multiprocessing import get_context
from typing import Any

from iree.compiler import ir

from tests.fuzz.checked import Checks, check
from tests.fuzz.comparison import Bug
from tests.fuzz.coverage import Coverage
from tests.fuzz.kinds import KINDS
from tests.fuzz.program import Program, Written, write
from tests.fuzz.settings import Settings, graph, oracle_objective, oracle_target
from tests.fuzz.shrink import shrunk

CHUNK = 50


@dataclass(frozen=True)
class Failure:
    """A graph that shows a bug: the smallest form found, and how to see the whole one."""

    seed: int
    number: int
    bug: Bug
    written: Written
    mode: str


@dataclass
class Chunk:
    """What some graphs came to."""

    graphs: int = 0
    seen: Counter[str] = field(default_factory=Counter)
    bugs: list[tuple[int, Bug]] = field(default_factory=list)


def checked_chunk(seed: int, first: int, count: int, plans: int) -> Chunk:
    """Check graphs ``first`` .. ``first + count - 1`` of a seed."""
    chunk, coverage, context = Chunk(), Coverage(), ir.Context()
    for number in range(first, first + count):
        bug = checked(graph(seed, number), number, plans, context, coverage)
        chunk.graphs += 1
        if bug is not None:
            chunk.bugs.append((number, bug))
    chunk.seen = coverage.seen
    return chunk


def checked(
    written: Written, number: int, plans: int, context: Any, coverage: Coverage
) -> Bug | None:
    """Check one graph; ``number`` says which target and which random plans."""
    target, objective = oracle_target(number), oracle_objective(number)
    return check(written, context, target, objective, Checks(plans, number), coverage)


def run_oracle(settings: Settings) -> tuple[Chunk, list[Failure]]:
    """Check graphs until time or graphs run out; the failures, one of each kind, shrunk."""
    total = Chunk()
    for chunk in _chunks(settings):
        total.graphs += chunk.graphs
        total.seen += chunk.seen
        total.bugs += chunk.bugs
    first: dict[tuple[str, str], int] = {}
    for number, bug in sorted(total.bugs, key=lambda found: found[0]):
        first.setdefault((bug.kind, bug.where), number)
    smaller = (smallest(settings.seed, n, settings.plans) for n in first.values())
    return total, [failure for failure in smaller if failure is not None]


def smallest(seed: int, number: int, plans: int, limit_s: float = 60.0) -> Failure | None:
    """The smallest program found that shows the bug of a graph, None where it shows none."""
    context, coverage = ir.Context(), Coverage()
    whole = graph(seed, number)
    bug = checked(whole, number, plans, context, coverage)
    if bug is None:
        return None
    seen = [bug]

    def fails(program: Program) -> Written | None:
        written = write(program, whole.name, KINDS)
        try:
            found = checked(written, number, plans, context, coverage)
        except ir.MLIRError:  # the generator's own fault, not that of layoutopt
            return None
        if found is None or (found.kind, found.where) != (bug.kind, bug.where):
            return None
        seen.append(found)
        return written

    small = shrunk(whole, fails, limit_s)
    last = checked(small, number, plans, context, coverage)
    return Failure(seed, number, last or seen[-1], small, "--oracle-only")


def _chunks(settings: Settings) -> Iterator[Chunk]:
    if settings.jobs == 1:
        yield from _one_by_one(settings)
        return
    deadline = time.monotonic() + settings.seconds
    first, most = 0, settings.models
    with ProcessPoolExecutor(settings.jobs, get_context("spawn")) as pool:
        pending: set[Future[Chunk]] = set()
        while True:
            in_time = time.monotonic() < deadline
            while in_time and len(pending) < 2 * settings.jobs and (most is None or first < most):
                count = CHUNK if most is None else min(CHUNK, most - first)
                work = (settings.seed, first, count, settings.plans)
                pending.add(pool.submit(checked_chunk, *work))
                first += count
            if not pending:
                return
            done, pending = wait(pending, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)


def _one_by_one(settings: Settings) -> Iterator[Chunk]:
    deadline = time.monotonic() + settings.seconds
    first, most = 0, settings.models
    while time.monotonic() < deadline and (most is None or first < most):
        count = CHUNK if most is None else min(CHUNK, most - first)
        yield checked_chunk(settings.seed, first, count, settings.plans)
        first += count
