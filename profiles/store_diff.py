"""Two stores side by side: how well prices repeat."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from layoutopt.profiles.store_record import Record
from layoutopt.runtime.sampling import fastest_ns

_OK = "ok"
_KINDS = (
    ("convolution", re.compile(r"\blinalg\.(conv|depthwise|pooling)")),
    ("contraction", re.compile(r"\blinalg\.\w*(matmul|matvec|vecmat|mmt4d|dot|contract)")),
    ("pack", re.compile(r"\blinalg\.(un)?pack\b")),
    ("generic reduction", re.compile(r'"reduction"')),
    ("transpose", re.compile(r"\blinalg\.transpose\b")),
    ("elementwise", re.compile(r"\blinalg\.\w+")),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """One candidate that both stores hold a time of, in nanoseconds."""

    key: str
    kind: str
    first_ns: float
    second_ns: float

    @property
    def difference(self) -> float:
        """How far apart the two are, relative to the smaller: 0.05 is 5 %."""
        return max(self.first_ns, self.second_ns) / min(self.first_ns, self.second_ns) - 1.0


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two stores hold in common."""

    pairs: tuple[Pair, ...]
    outcomes: tuple[tuple[str, str, str], ...]
    """(key, outcome in the first, outcome in the second), where they differ."""
    only_first: int
    only_second: int

    @property
    def drift(self) -> float:
        """Geometric mean of second over first: 1.03 says that all became 3 % slower."""
        if not self.pairs:
            return 1.0
        return math.exp(statistics.fmean(math.log(p.second_ns / p.first_ns) for p in self.pairs))


def compare(first: Iterable[Record], second: Iterable[Record]) -> Comparison:
    """Match two sets of records by key."""
    mine = {record.key: record for record in first}
    theirs = {record.key: record for record in second}
    pairs, outcomes = [], []
    for key in sorted(mine.keys() & theirs.keys()):
        a, b = mine[key], theirs[key]
        if a.outcome != b.outcome:
            outcomes.append((key, a.outcome, b.outcome))
        elif a.outcome == _OK:
            pairs.append(Pair(key, kind_of(a.text), price_ns(a), price_ns(b)))
    return Comparison(
        tuple(pairs),
        tuple(outcomes),
        len(mine.keys() - theirs.keys()),
        len(theirs.keys() - mine.keys()),
    )


def price_ns(record: Record) -> float:
    """The price that the planner takes from a record."""
    return max(1.0, fastest_ns(record.samples_ns))


def kind_of(text: str) -> str:
    """What a candidate is, by its dearest op."""
    return next((kind for kind, op in _KINDS if op.search(text)), "other")


def quantile(pairs: Sequence[Pair], share: float) -> float:
    """The difference that ``share`` of the pairs do not exceed; 0 where there are none."""
    ordered = sorted(pair.difference for pair in pairs)
    return ordered[math.ceil(share * len(ordered)) - 1] if ordered else 0.0
