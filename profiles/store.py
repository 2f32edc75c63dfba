"""The price store: an SQLite file that many processes may write and any may be killed.

Each `put` is one committed transaction in WAL mode: once it has returned, the record survives
`kill -9` of this process at any moment. (Under `synchronous=NORMAL` a power cut may take the last.)
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from platformdirs import user_cache_dir

from layoutopt.closing import Closing
from layoutopt.errors import InputError
from layoutopt.output import written_whole
from layoutopt.profiles.store_record import COLUMNS, Record, from_line, from_row, to_line, to_row
from layoutopt.profiles.store_schema import BUSY_TIMEOUT_S, migrate

EXPORT_HEADER = '{"layoutopt_prices": 1}'
_KEYS_PER_QUERY = 500
_INSERT = (
    f"INSERT INTO prices ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))}) "
    f"ON CONFLICT (key) DO UPDATE SET {', '.join(f'{c} = excluded.{c}' for c in COLUMNS[1:])} "
    "WHERE excluded.date_utc >= prices.date_utc"
)


@dataclass(frozen=True, slots=True)
class Holding:
    """How many records a store holds of one target, IREE version and outcome."""

    target_fingerprint: str
    iree_version: str
    outcome: str
    count: int
    oldest_utc: str
    newest_utc: str


def cache_folder(cache: Path | None = None) -> Path:
    """Where prices and results are kept: the user's cache folder unless another one is named."""
    return cache or Path(user_cache_dir("layoutopt"))


def store_path(cache: Path | None = None) -> Path:
    """The file of prices in a cache folder."""
    return cache_folder(cache) / "prices.sqlite"


class Store(Closing):
    """Prices by key. Use it as a context manager, in the thread that opened it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._reported():
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=True
            )
        try:
            with self._reported():
                migrate(self._connection, path)
        except BaseException:
            self._connection.close()
            raise

    def get_many(self, keys: Sequence[str]) -> dict[str, Record]:
        """Return the records of those keys that are here."""
        found: dict[str, Record] = {}
        with self._reported():
            for start in range(0, len(keys), _KEYS_PER_QUERY):
                part = keys[start : start + _KEYS_PER_QUERY]
                marks = ", ".join("?" * len(part))
                query = f"SELECT {', '.join(COLUMNS)} FROM prices WHERE key IN ({marks})"
                for row in self._connection.execute(query, part):
                    found[row[0]] = from_row(row)
        return found

    def put(self, *records: Record) -> None:
        """Store records, all or none; an older record under the same key gives way."""
        with self._reported(), self._transaction():
            self._connection.executemany(_INSERT, [to_row(record) for record in records])

    def records(self) -> Iterator[Record]:
        """Every record, by key."""
        query = f"SELECT {', '.join(COLUMNS)} FROM prices ORDER BY key"
        with self._reported():
            for row in self._connection.execute(query):
                yield from_row(row)

    def export(self, path: Path) -> int:
        """Write all records to `path` as lines of JSON; return their number. All or nothing."""
        count = 0
        with written_whole(path) as partial, partial.open("w", encoding="utf-8") as file:
            file.write(EXPORT_HEADER + "\n")
            for record in self.records():
                file.write(to_line(record) + "\n")
                count += 1
        return count

    def import_(self, path: Path) -> int:
        """Take in what `export` wrote; newer records win. Return how many lines were read."""
        try:
            with path.open(encoding="utf-8") as file:
                if file.readline().strip() != EXPORT_HEADER:
                    raise InputError(
                        str(path), "an export of prices", "something else", "export the store again"
                    )
                lines = enumerate(file, start=2)
                records = [from_line(line, f"{path}:{number}") for number, line in lines]
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                str(path), "a file that can be read", _why(error), "check the path"
            ) from None
        self.put(*records)
        return len(records)

    def merge(self, other: Path) -> int:
        """Take in the records of another store; newer records win. Return how many it holds."""
        if not other.is_file():
            raise InputError(str(other), "a price store", "no such file", "check the path")
        with Store(other) as source:
            records = list(source.records())
        self.put(*records)
        return len(records)

    def prune(
        self,
        older_than: timedelta | None = None,
        iree_version: str | None = None,
        target_fingerprint: str | None = None,
        refusals: bool = False,
    ) -> int:
        """Remove the records that meet every condition given (at least one); return how many."""
        conditions: list[tuple[str, str | None]] = []
        if older_than is not None:
            conditions.append(("date_utc < ?", utc(datetime.now(UTC) - older_than)))
        if iree_version is not None:
            conditions.append(("iree_version = ?", iree_version))
        if target_fingerprint is not None:
            conditions.append(("target_fingerprint = ?", target_fingerprint))
        if refusals:
            conditions.append(("outcome <> ?", "ok"))
        if not conditions:
            raise InputError("prune", "at least one condition", "none", "say what to remove")
        where = " AND ".join(text for text, _ in conditions)
        with self._reported(), self._transaction():
            values = [value for _, value in conditions]
            return self._connection.execute(f"DELETE FROM prices WHERE {where}", values).rowcount

    def summary(self) -> tuple[Holding, ...]:
        """What is here, by target, IREE version and outcome."""
        groups = "target_fingerprint, iree_version, outcome"
        query = (
            f"SELECT {groups}, count(*), min(date_utc), max(date_utc) FROM prices "
            f"GROUP BY {groups} ORDER BY {groups}"
        )
        with self._reported():
            return tuple(Holding(*row) for row in self._connection.execute(query))

    def close(self) -> None:
        """Close the file. Everything that was put is in it already."""
        self._connection.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Turn what SQLite and the file system say into one line for the user."""
        try:
            yield
        except (OSError, sqlite3.OperationalError) as error:
            raise InputError(
                str(self.path), "a price store that can be used", _why(error), "check the path"
            ) from None
        except sqlite3.DatabaseError as error:
            raise InputError(
                str(self.path), "a price store", _why(error), "move the file away to start anew"
            ) from None


def utc(moment: datetime) -> str:
    """The one spelling of a date in the store: `2026-01-31T12:00:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error)
