"""Many graphs through IREE, batch by batch."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from functools import cache
from multiprocessing import get_context

from layoutopt.profiles.target import Target, load_target
from tests.fuzz.comparison import Bug
from tests.fuzz.kinds import KINDS
from tests.fuzz.open_batch import hold_open_batch
from tests.fuzz.open_graph import opened
from tests.fuzz.oracle_run import Failure
from tests.fuzz.program import Program, Written, write
from tests.fuzz.settings import Settings, graph, parallel
from tests.fuzz.shrink import shrunk
from tests.fuzz.through_iree import Tally, hold_batch

BATCH = 16
SHRINK_S = 120.0

Found = tuple[list[tuple[int, Bug]], Tally]


@cache
def _target() -> Target:
    return parallel(load_target("host"))


def held(seed: int, numbers: Sequence[int], plans: int, open_sizes: bool = False) -> Found:
    """Send some graphs of a seed through IREE; the bugs by number."""
    batch = {n: graph(seed, n) for n in numbers}
    place = {written.name: n for n, written in batch.items()}
    bugs, tally = _hold(list(batch.values()), plans, str(seed), open_sizes)
    return [(place[written.name], bug) for written, bug in bugs], tally


def _hold(
    batch: Sequence[Written], plans: int, seed: str, open_sizes: bool, compiled: bool = True
) -> tuple[list[tuple[Written, Bug]], Tally]:
    """Hold functions as they are, or those of them that leave a size free with it open."""
    if not open_sizes:
        return hold_batch(batch, plans, _target(), seed, compiled)
    found = (opened(written, random.Random(f"{seed} {written.name}")) for written in batch)
    graphs = [graph for graph in found if graph is not None]
    return hold_open_batch(graphs, plans, _target(), seed, compiled) if graphs else ([], Tally())


def run_iree(settings: Settings) -> tuple[Tally, list[Failure]]:
    """Hold batches until time or graphs run out; the failures, one of each kind, shrunk."""
    tally = Tally()
    first: dict[tuple[str, str], tuple[int, Bug]] = {}
    for bugs, part in _held_batches(settings):
        tally.add(part)
        for number, bug in bugs:
            first.setdefault((bug.kind, bug.where), (number, bug))
    return tally, [smallest_through_iree(settings, *found) for found in first.values()]


def _held_batches(settings: Settings) -> Iterator[Found]:
    deadline = time.monotonic() + settings.seconds
    batches = _batches(settings)
    if settings.jobs == 1:
        for numbers in batches:
            yield held(settings.seed, numbers, settings.plans, settings.open_sizes)
            if time.monotonic() > deadline:
                return
        return
    with ProcessPoolExecutor(settings.jobs, get_context("spawn")) as pool:
        pending: set[Future[Found]] = set()
        for numbers in batches:
            if len(pending) >= settings.jobs:
                done, pending = wait(pending, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
            if time.monotonic() > deadline:
                break
            sizes = settings.open_sizes
            pending.add(pool.submit(held, settings.seed, numbers, settings.plans, sizes))
        yield from (future.result() for future in pending)


def _batches(settings: Settings) -> Iterator[list[int]]:
    """Numbers of graphs that IREE is known to take, so that batches compile at once."""
    numbers: list[int] = []
    number, taken = 0, 0
    while settings.models is None or taken < settings.models:
        if not graph(settings.seed, number).beyond_iree:
            numbers.append(number)
            taken += 1
        number += 1
        if len(numbers) == BATCH:
            yield numbers
            numbers = []
    if numbers:
        yield numbers


def smallest_through_iree(settings: Settings, number: int, bug: Bug) -> Failure:
    """Shrink one graph, alone in its module."""
    whole = graph(settings.seed, number)

    def bugs(written: Written) -> list[Bug]:
        compiled = bug.kind != "traceback"
        seed, plans = str(settings.seed), settings.plans
        found, _ = _hold([written], plans, seed, settings.open_sizes, compiled)
        return [b for _, b in found if (b.kind, b.where) == (bug.kind, bug.where)]

    def fails(program: Program) -> Written | None:
        written = write(program, whole.name, KINDS)
        return written if bugs(written) else None

    small = shrunk(whole, fails, SHRINK_S)
    left = bugs(small)
    mode = "--iree-only --open-sizes" if settings.open_sizes else "--iree-only"
    return Failure(settings.seed, number, left[0] if left else bug, small, mode)
