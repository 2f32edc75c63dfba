"""Many candidates in one module: how they are grouped, written and split where one is bad."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from layoutopt.pricing.measure.benchmark import Benchmark

LARGEST_TEXT = 400_000
"""Characters of one module, about: it is compiled by one core in some seconds. Competitors have
most of their kernels in common, which a module that they share has once: four schedules of one
Winograd convolution compile in 4.0 s together and in 7.9 s apart."""
_SMALLEST_TEXT = 8_000
"""Characters that take as long to compile as what every candidate takes, about."""

FUNCTION = r"c(\d+)"
"""What `function_name` makes, as a regular expression whose group is the place."""

_EXECUTABLE = re.compile(rf"(?:^|_){FUNCTION}(?:\$async)?_dispatch_\d+$")


@dataclass(frozen=True)
class Batch:
    """Candidates of equal flags that share a module. `order` are their places in the request."""

    benchmarks: tuple[Benchmark, ...]
    order: tuple[int, ...]

    @property
    def flags(self) -> tuple[str, ...]:
        """The flags of all of them."""
        return self.benchmarks[0].flags

    def part(self, places: Sequence[int]) -> Batch:
        """A batch of the candidates at `places` of this one."""
        return Batch(
            tuple(self.benchmarks[place] for place in places),
            tuple(self.order[place] for place in places),
        )


@dataclass(frozen=True, slots=True)
class BatchModule:
    """Text of a batch; function `c<i>` is line `first_lines[i]` (from 1) up to the next one's."""

    text: str
    first_lines: tuple[int, ...]

    def function_at(self, line: int) -> int | None:
        """Which candidate owns a line; None for what stands before all of them."""
        starts = (index for index, first in enumerate(self.first_lines) if first <= line)
        return max(starts, default=None)


def function_name(place: int) -> str:
    """Name of the function of the candidate at `place` of its batch."""
    return f"c{place}"


def place_of_executable(name: str) -> int | None:
    """The place in its batch of the candidate that a dumped executable is of; None if of none."""
    found = _EXECUTABLE.search(name)
    return int(found[1]) if found else None


def weight_prefix(place: int) -> str:
    """Prefix of the names of that candidate's weights."""
    return f"c{place}_w"


def write_module(batch: Batch) -> BatchModule:
    """Write a batch as one module. Each line of a prelude is written once."""
    preludes = [line for benchmark in batch.benchmarks for line in benchmark.prelude.splitlines()]
    lines = list(dict.fromkeys(line for line in preludes if line.strip()))
    first_lines = []
    for place, benchmark in enumerate(batch.benchmarks):
        first_lines.append(len(lines) + 1)
        lines += benchmark.function(function_name(place), weight_prefix(place)).splitlines()
    return BatchModule("\n".join(lines) + "\n", tuple(first_lines))


def make_batches(
    benchmarks: Sequence[Benchmark],
    order: Sequence[int],
    group: Sequence[int],
    size: int,
    jobs: int = 1,
) -> tuple[Batch, ...]:
    """Group by flags, keep competitors together, cut into batches that compile for equally long.

    About `size` candidates or `LARGEST_TEXT` characters at most in each; where there are several,
    as many as keep `jobs` busy until the end. `order` and `group` run along `benchmarks`: place in
    the request, and who competes with whom.
    """
    by_flags: dict[tuple[str, ...], list[int]] = {}
    for index, benchmark in enumerate(benchmarks):
        by_flags.setdefault(benchmark.flags, []).append(index)
    batches = []
    for indices in by_flags.values():
        indices.sort(key=lambda index: group[index])
        ends = list(accumulate(_SMALLEST_TEXT + len(benchmarks[i].text) for i in indices))
        count = max(-(-len(indices) // size), -(-ends[-1] // LARGEST_TEXT))
        if count > 1:
            count = -(-count // jobs) * jobs
        parts = [(end * count - 1) // ends[-1] for end in ends]
        for part in dict.fromkeys(parts):
            cut = [index for index, home in zip(indices, parts, strict=True) if home == part]
            batches.append(Batch(tuple(benchmarks[i] for i in cut), tuple(order[i] for i in cut)))
    return tuple(batches)


def split(batch: Batch) -> tuple[Batch, Batch]:
    """Two halves of a batch that failed, as it is not known which candidate caused it."""
    count = len(batch.benchmarks)
    return batch.part(range(count // 2)), batch.part(range(count // 2, count))
