"""Many candidates in one module: how they are grouped, written and split where one is bad."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapreplace
from itertools import accumulate

from layoutopt.pricing.measure.benchmark import Benchmark

LARGEST_TEXT = 1_000_000
"""Characters of one module, about: it is compiled by one core in some seconds. Competitors have
most of their kernels in common, which a module that they share has once: four schedules of one
Winograd convolution compile in 4.0 s together and in 7.9 s apart."""
_OF_CANDIDATE = 37_000
"""Characters that take as long to compile as what every candidate takes: 0.20 s, at 5.4 us each."""
_OF_MODULE = 124_000
"""What every module takes: 0.67 s. (25 modules of SqueezeNet's candidates, two at a time.)"""

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

    @property
    def length(self) -> int:
        """Characters that take as long to compile as these candidates do in a module, about."""
        return sum(_OF_CANDIDATE + len(benchmark.text) for benchmark in self.benchmarks)

    def cut(self, count: int) -> list[Batch]:
        """At most so many parts that compile for about equally long, none of them empty."""
        ends = list(accumulate(_OF_CANDIDATE + len(b.text) for b in self.benchmarks))
        homes: dict[int, list[int]] = {}
        for place, end in enumerate(ends):
            homes.setdefault((end * count - 1) // ends[-1], []).append(place)
        return [self.part(places) for places in homes.values()]

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
    most: int,
    jobs: int = 1,
) -> tuple[Batch, ...]:
    """Group by flags, keep competitors together, cut so that `jobs` cores end early and together.

    `most` candidates in each, and about `LARGEST_TEXT` characters. `order` and `group` run along
    `benchmarks`: place in the request, and who competes with whom.
    """
    by_flags: dict[tuple[str, ...], list[int]] = {}
    for index, benchmark in enumerate(benchmarks):
        by_flags.setdefault(benchmark.flags, []).append(index)
    wholes: list[Batch] = []
    for indices in by_flags.values():
        indices.sort(key=lambda index: group[index])
        wholes.append(
            Batch(tuple(benchmarks[i] for i in indices), tuple(order[i] for i in indices))
        )
    parts = [part for whole in wholes for part in _smallest_number(whole, most)]
    longest = max((part.length for part in parts), default=0)
    ways = [parts]
    for share in range(2, 2 * jobs + 1):  # no part longer than that share of the longest
        ways.append([p for part in parts for p in part.cut(-(-part.length * share // longest))])

    first_done = min(ways, key=lambda way: _ends_after(way, jobs))
    return tuple(first_done)


def _smallest_number(whole: Batch, most: int) -> list[Batch]:
    return whole.cut(max(-(-len(whole.benchmarks) // most), -(-whole.length // LARGEST_TEXT)))


def _ends_after(batches: Sequence[Batch], jobs: int) -> int:
    """When the last of some cores is done, each of which takes the longest batch that is left."""
    cores = [0] * jobs
    for batch in sorted(batches, key=lambda batch: -batch.length):
        heapreplace(cores, cores[0] + _OF_MODULE + batch.length)
    return max(cores)


def split(batch: Batch) -> tuple[Batch, Batch]:
    """Two halves of a batch that failed, as it is not known which candidate caused it."""
    count = len(batch.benchmarks)
    return batch.part(range(count // 2)), batch.part(range(count // 2, count))
