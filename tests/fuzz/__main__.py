"""``python -m tests.fuzz``: random graphs, compared with the oracle and run with IREE.

Exits with 1 where something failed. Each failure is written to build/fuzz/, as small as it was
made, and told in one line with the command that shows it again.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tests.fuzz.coverage import wanted
from tests.fuzz.iree_run import held, run_iree, smallest_through_iree
from tests.fuzz.oracle_run import Chunk, Failure, run_oracle, smallest
from tests.fuzz.settings import FOLDER, Settings
from tests.fuzz.through_iree import Tally

ORACLE_SHARE = 0.4
"""Of the time; the rest goes through IREE."""
OPEN_SHARE = 0.4
"""Of the time that goes through IREE; the rest is for sizes that are known ahead."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the fuzzer; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--models", type=int, help="graphs at most, of each kind of run")
    parser.add_argument("--plans", type=int, default=2, help="random plans of each graph")
    parser.add_argument("--jobs", type=int, default=2, help="processes of the oracle's run")
    parser.add_argument("--oracle-only", action="store_true")
    parser.add_argument("--iree-only", action="store_true")
    parser.add_argument(
        "--open-sizes", action="store_true", help="through IREE with sizes known at run time only"
    )
    parser.add_argument("--graph", type=int, help="check and shrink this one graph of the seed")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    given = parser.parse_args(arguments)
    settings = Settings(
        given.seconds,
        given.seed,
        given.plans,
        given.models,
        given.jobs,
        given.folder,
        given.open_sizes,
    )
    if given.graph is not None:
        return _told(_of_one(settings, given.graph, given.iree_only), settings)
    failures: list[Failure] = []
    started = time.monotonic()
    if not given.iree_only:
        share = 1.0 if given.oracle_only else ORACLE_SHARE
        total, found = run_oracle(replace(settings, seconds=settings.seconds * share))
        failures += found
        _tell_oracle(total, time.monotonic() - started)
    if not given.oracle_only:
        left = max(1.0, settings.seconds - (time.monotonic() - started))
        for share, open_sizes in _runs(given.open_sizes):
            began = time.monotonic()
            part = replace(settings, seconds=left * share, open_sizes=open_sizes)
            tally, found = run_iree(part)
            failures += found
            _tell_iree(tally, time.monotonic() - began, open_sizes)
    return _told(failures, settings)


def _runs(open_sizes: bool) -> tuple[tuple[float, bool], ...]:
    """Runs through IREE: the share of the time, and whether sizes are open."""
    return ((1.0, True),) if open_sizes else ((1.0 - OPEN_SHARE, False), (OPEN_SHARE, True))


def _of_one(settings: Settings, number: int, through_iree: bool) -> list[Failure]:
    """The failures of one graph, shrunk."""
    if through_iree:
        bugs, _ = held(settings.seed, [number], settings.plans, settings.open_sizes)
        return [smallest_through_iree(settings, n, bug) for n, bug in bugs[:1]]
    found = smallest(settings.seed, number, settings.plans)
    return [] if found is None else [found]


def _tell_oracle(total: Chunk, seconds: float) -> None:
    print(f"oracle: {total.graphs} graphs, {len(total.bugs)} with bugs, {seconds:.0f} s")
    kinds = Counter((bug.kind, bug.where) for _, bug in total.bugs)
    for (kind, where), count in kinds.most_common():
        print(f"  {count} x {kind} in {where}")
    reached = [f"{name} {total.seen[name]}" for name in wanted() if total.seen[name]]
    print(f"reached {len(reached)} of {len(wanted())}: {', '.join(reached)}")
    missing = [name for name in wanted() if not total.seen[name]]
    if missing:
        print(f"not reached: {', '.join(missing)}")


def _tell_iree(tally: Tally, seconds: float, open_sizes: bool) -> None:
    kind = ", open sizes" if open_sizes else ""
    print(f"IREE{kind}: {tally.originals} graphs, {tally.plans} plans, {seconds:.0f} s")
    for title, reasons in (
        ("originals that IREE refuses", tally.refused_originals),
        ("plans that IREE refuses though it takes the original", tally.refused_plans),
    ):
        print(f"  {title}: {sum(map(len, reasons.values()))}")
        often = sorted(reasons.items(), key=lambda told: -len(told[1]))
        for reason, names in often[:5]:
            print(f"    {len(names)} x {reason}: {' '.join(names[:5])}")
    wrong = sorted(set(tally.miscompiled))
    print(f"  originals that IREE miscompiles, by the oracle: {len(wrong)} {' '.join(wrong)}")


def _told(failures: Sequence[Failure], settings: Settings) -> int:
    for failure in failures:
        settings.folder.mkdir(parents=True, exist_ok=True)
        path = settings.folder / f"{failure.seed}-{failure.number}{failure.mode}.mlir"
        path.write_text(f"// {failure.bug.kind} in {failure.bug.where}\n{failure.written.text}")
        print(
            f"FAILED {failure.bug.kind} in {failure.bug.where}: {failure.bug.detail}; {path}; "
            f"python -m tests.fuzz {failure.mode} --seed {failure.seed} --graph {failure.number}"
        )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
