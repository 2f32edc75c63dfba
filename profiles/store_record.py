"""One stored price: what was measured, for which target, how it ended, and where it comes from."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from layoutopt.errors import InputError


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
    """Read back what `to_row` wrote."""
    key, target, version, flags, text, outcome, samples, reason, command, date, machine = row
    return Record(
        key=key,
        target_fingerprint=target,
        iree_version=version,
        flags=tuple(json.loads(flags)),
        text=text,
        outcome=outcome,
        samples_ns=tuple(json.loads(samples)),
        reason=reason,
        provenance=Provenance(command, date, machine),
    )


def to_line(record: Record) -> str:
    """One line of JSON, for files that travel between machines."""
    return json.dumps(asdict(record), sort_keys=True)


def from_line(line: str, where: str) -> Record:
    """Read a line that `to_line` wrote; InputError where it is not one."""
    try:
        read = json.loads(line)
        return Record(
            key=str(read["key"]),
            target_fingerprint=str(read["target_fingerprint"]),
            iree_version=str(read["iree_version"]),
            flags=tuple(str(flag) for flag in read["flags"]),
            text=str(read["text"]),
            outcome=str(read["outcome"]),
            samples_ns=tuple(int(sample) for sample in read["samples_ns"]),
            reason=str(read["reason"]),
            provenance=Provenance(**{k: str(v) for k, v in read["provenance"].items()}),
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            where, "one price as JSON", type(error).__name__, "export the store again"
        ) from None
