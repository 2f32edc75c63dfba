"""Run the command line on many damaged files: ``python -m tests.mutated_inputs --count 2000``."""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from tests.mutated_inputs.campaign import case_of, known, run
from tests.mutated_inputs.contained import import_all
from tests.mutated_inputs.kinds import KINDS
from tests.mutated_inputs.seeds import write_seeds


def main() -> None:
    """Print each failure with its number; exit with 1 where there is any."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first case")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--kind", action="append", choices=[k.name for k in KINDS], default=[])
    parser.add_argument("--measured", action="store_true", help="caches of this machine too")
    parser.add_argument("--keep", type=Path, help="keep the folders of failures here")
    chosen = parser.parse_args()
    import_all()
    kinds = known(chosen.kind, chosen.measured)
    started = time.monotonic()
    failures = 0
    kept: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="mutated-") as name:
        seeds, work = Path(name) / "seeds", chosen.keep or Path(name) / "work"
        seeds.mkdir()
        work.mkdir(exist_ok=True)
        write_seeds(seeds, any(k.measured for k in kinds))
        numbers = range(chosen.first, chosen.first + chosen.count)
        cases = (case_of(chosen.seed, number, kinds, seeds) for number in numbers)
        for failure in run(cases, seeds, work, chosen.jobs):
            kept["ended as it should" if failure is None else failure.case.kind.name] += 1
            if failure is not None:
                failures += 1
                print(failure, flush=True)
    print(f"{chosen.count} cases, seed {chosen.seed}, {failures} failed, "
          f"{time.monotonic() - started:.0f} s; {dict(kept)}")  # fmt: skip
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
