"""What `layoutopt bench` measured, as a table for the terminal and one for a README."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich import box
from rich.table import Table

from layoutopt.report.headline import PLANNED
from layoutopt.report.report import FlagSetReport, Report
from layoutopt.report.units import milliseconds

DEFAULT = "default"
COLUMNS = (
    "model",
    "IREE default",
    "best of its flag sets",
    "layoutopt",
    "against default",
    "against best flags",
    "predicted",
)
AGAINST_PEER = "against the better peer"


@dataclass(frozen=True, slots=True)
class BenchRow:
    """A model with so many threads: what was timed in turns, in one run."""

    model: str
    threads: int
    iree: tuple[FlagSetReport, ...]
    """IREE with each of its own flag sets, and with the plan."""
    peers: tuple[FlagSetReport, ...] = ()
    predicted_ms: float | None = None
    """Of the plan: the sum of its prices."""

    @staticmethod
    def of(model: Path, threads: int, report: Report) -> BenchRow:
        """The row of a report."""
        timed = report.flag_sets, report.peers
        return BenchRow(str(model), threads, *timed, report.after.predicted_ms)

    @property
    def timed(self) -> dict[str, FlagSetReport]:
        """Everything that has a time, by its name."""
        return {f.name: f for f in (*self.iree, *self.peers) if f.measured_ms is not None}

    @property
    def best_flags(self) -> str | None:
        """The fastest of IREE's own flag sets; None where none was timed."""
        return self._fastest(f.name for f in self.iree if f.name != PLANNED)

    @property
    def best_peer(self) -> str | None:
        """The fastest of the other runtimes; None where none was timed."""
        return self._fastest(f.name for f in self.peers)

    def ratio(self, other: str | None) -> float | None:
        """Times that the plan is faster than another."""
        mine, theirs = self.milliseconds(PLANNED), self.milliseconds(other)
        return theirs / mine if mine and theirs else None

    def milliseconds(self, name: str | None) -> float | None:
        """The median of something; None where it was not timed."""
        found = None if name is None else self.timed.get(name)
        return None if found is None else found.measured_ms

    def _fastest(self, names: Iterable[str]) -> str | None:
        known = [(ms, name) for name in names if (ms := self.milliseconds(name)) is not None]
        return min(known, default=(0.0, None))[1]


def markdown(rows: Sequence[BenchRow]) -> str:
    """The table that the README shows: medians, and the plan against the others."""
    peers = _peer_names(rows)
    columns = (*COLUMNS, *peers, *((AGAINST_PEER,) if peers else ()))
    lines = [columns, ("---",) * len(columns), *(_cells(row, peers) for row in rows)]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace(" --- ", "---")


def _cells(row: BenchRow, peers: Sequence[str]) -> tuple[str, ...]:
    best, mine = row.best_flags, row.milliseconds(PLANNED)
    name = Path(row.model).stem
    against = (DEFAULT, best, *((row.best_peer,) if peers else ()))
    ratios = ["-" if r is None else f"{r:.1f}x" for r in map(row.ratio, against[:2])]
    ratios += ["-" if r is None else f"{r:.2f}x" for r in map(row.ratio, against[2:])]
    return (
        name if row.threads == 1 else f"{name}, {row.threads} threads",
        _ms(row.milliseconds(DEFAULT)),
        "-" if best is None else f"{_ms(row.milliseconds(best))} ({best})",
        "-" if mine is None else f"**{milliseconds(mine)}**",
        *ratios[:2],
        _ms(row.predicted_ms),
        *(_ms(row.milliseconds(peer)) for peer in peers),
        *ratios[2:],
    )


def table(rows: Sequence[BenchRow]) -> Table:
    """Medians and, in brackets, fastest runs, for the terminal."""
    columns = list(dict.fromkeys(f.name for row in rows for f in (*row.iree, *row.peers)))
    found = Table(title="Milliseconds: medians (fastest)", box=box.SIMPLE_HEAD)
    found.add_column("model", overflow="fold")
    found.add_column("threads", justify="right")
    for name in (*columns, "default / layoutopt", "better peer / layoutopt"):
        found.add_column(name, justify="right")
    for row in rows:
        ratios = [row.ratio(DEFAULT), row.ratio(row.best_peer)]
        found.add_row(
            Path(row.model).name,
            str(row.threads),
            *(_both(row.timed.get(name)) for name in columns),
            *("-" if r is None else f"{r:.2f}x" for r in ratios),
        )
    return found


def failures(row: BenchRow) -> list[str]:
    """What there is to say of peers: why one has no time, what its results differ by."""
    return [f"{row.model}: {peer.name}: {peer.reason}" for peer in row.peers if peer.reason]


def _peer_names(rows: Sequence[BenchRow]) -> list[str]:
    return list(dict.fromkeys(peer.name for row in rows for peer in row.peers))


def _both(found: FlagSetReport | None) -> str:
    if found is None or found.measured_ms is None:
        return "-"
    fastest = "" if found.fastest_ms is None else f" ({milliseconds(found.fastest_ms)})"
    return f"{milliseconds(found.measured_ms)}{fastest}"


def _ms(value: float | None) -> str:
    return "-" if value is None else milliseconds(value)
