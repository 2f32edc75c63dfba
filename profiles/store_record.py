"""One stored price: what was measured, for which target, how it ended, and where it comes from."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

import msgspec

from layoutopt.errors import InputError
from layoutopt.runtime.outcome import Outcome

_OUTCOMES = {outcome.value for outcome in Outcome}
_MOST_NS = 10**18


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who measured: the command line, when (UTC, ISO 8601), and on which machine."""

    command: str
    date_utc: str
    machine: str


@dataclass(frozen=True, slots=True)
class Record:
    """A result under its key. `outcome` is a value of `Outcome`; samples are nanoseconds."""

    key: str
    target_fingerprint: str
    iree_version: str
    flags: tuple[str, ...]
    text: str
    outcome: str
    samples_ns: tuple[int, ...]
    reason: str
    provenance: Provenance

    def is_stale(self, since: str) -> bool:
        """Whether it is a time from before a moment; refusals hold as long as the compiler does."""
        return self.outcome == Outcome.OK.value and self.provenance.date_utc < since


COLUMNS = (
    "key",
    "target_fingerprint",
    "iree_version",
    "flags",
    "text",
    "outcome",
    "samples_ns",
    "reason",
    "command",
    "date_utc",
    "machine",
)
Row = tuple[str, str, str, str, str, str, str, str, str, str, str]


def to_row(record: Record) -> Row:
    """Columns of a record, in the order of COLUMNS."""
    return (
        record.key,
        record.target_fingerprint,
        record.iree_version,
        json.dumps(record.flags),
        record.text,
        record.outcome,
        json.dumps(record.samples_ns),
        record.reason,
        record.provenance.command,
        record.provenance.date_utc,
        record.provenance.machine,
    )


def from_row(row: Row) -> Record:
    """Read back what `to_row` wrote. Raises ValueError or RecursionError where it is none."""
    key, target, version, flags, text, outcome, samples, reason, command, date, machine = row
    table = {
        "key": key,
        "target_fingerprint": target,
        "iree_version": version,
        "flags": msgspec.json.decode(flags),
        "text": text,
        "outcome": outcome,
        "samples_ns": msgspec.json.decode(samples),
        "reason": reason,
        "provenance": {"command": command, "date_utc": date, "machine": machine},
    }
    return _checked(msgspec.convert(table, Record))


def to_line(record: Record) -> str:
    """One line of JSON, for files that travel between machines."""
    return json.dumps(asdict(record), sort_keys=True)


def from_line(line: bytes, where: str) -> Record:
    """Read a line that `to_line` wrote; InputError where it is not one."""
    try:
        return _checked(msgspec.json.decode(line, type=Record))
    except (ValueError, RecursionError) as error:
        raise InputError(where, "one price as JSON", str(error), "export the store again") from None


def _checked(record: Record) -> Record:
    """Raises ValueError where a record has no outcome, or a time without samples."""
    if record.outcome not in _OUTCOMES:
        raise ValueError(f"no outcome '{record.outcome}'")
    if record.outcome == Outcome.OK.value and not record.samples_ns:
        raise ValueError("a time without samples")
    if not all(0 <= sample <= _MOST_NS for sample in record.samples_ns):
        raise ValueError("a sample out of range")
    return record
