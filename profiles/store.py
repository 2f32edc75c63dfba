"""The price store: an SQLite file that many processes may write and any may be killed.

Each `put` is one committed transaction in WAL mode: once it has returned, the record survives
`kill -9` of this process at any moment. (Under `synchronous=NORMAL` a power cut may take the last.)
"""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TypeVar

from platformdirs import user_cache_dir

from layoutopt.errors import InputError, one_line, why
from layoutopt.files.closing import Closing
from layoutopt.files.written import written_atomically
from layoutopt.profiles.store_record import COLUMNS, Record, from_line, from_row, to_line, to_row
from layoutopt.profiles.store_schema import BUSY_TIMEOUT_S, migrate

EXPORT_HEADER = '{"layoutopt_prices": 1}'
_KEYS_PER_QUERY = 500
_INSERT = (
    f"INSERT INTO prices ({', '.join(COLUMNS)}) VALUES ({', '.join('?' * len(COLUMNS))}) "
    f"ON CONFLICT (key) DO UPDATE SET {', '.join(f'{c} = excluded.{c}' for c in COLUMNS[1:])} "
    "WHERE excluded.date_utc >= prices.date_utc"
)


LOG = logging.getLogger(__name__)
_WAIT = "another process holds it: wait for it and run again"
_UNUSABLE = {
    sqlite3.SQLITE_BUSY: _WAIT,
    sqlite3.SQLITE_LOCKED: _WAIT,
    sqlite3.SQLITE_READONLY: "check its permissions, or choose another folder with --cache",
    sqlite3.SQLITE_PERM: "check its permissions, or choose another folder with --cache",
    sqlite3.SQLITE_AUTH: "check its permissions, or choose another folder with --cache",
    sqlite3.SQLITE_CANTOPEN: "check the path and its permissions",
    sqlite3.SQLITE_FULL: "make room, or choose another folder with --cache",
    sqlite3.SQLITE_IOERR: "check the disk, or choose another folder with --cache",
    sqlite3.SQLITE_NOMEM: "free some memory",
    sqlite3.SQLITE_TOOBIG: "free some memory",
}
"""What to do where SQLite cannot use a file, by its code; for any other code the file is damaged.
"""
Result = TypeVar("Result")


class DamagedStoreError(InputError):
    """A file in a store's place that holds no prices, or some that cannot be read."""

    def __init__(self, path: Path, got: str) -> None:
        super().__init__(str(path), "a price store", got, "move the file away to start anew")


@dataclass(frozen=True, slots=True)
class Holding:
    """How many records a store holds of one target, IREE version and outcome."""

    target_fingerprint: str
    iree_version: str
    outcome: str
    count: int
    oldest_utc: str
    newest_utc: str


def cache_folder(cache: Path | str | None = None) -> Path:
    """Where prices and results are kept: the user's cache folder unless another one is named."""
    return Path(cache or user_cache_dir("layoutopt"))


def store_path(cache: Path | str | None = None) -> Path:
    """The file of prices in a cache folder."""
    return cache_folder(cache) / "prices.sqlite"


class Store(Closing):
    """Prices by key. Use it as a context manager, in the thread that opened it."""

    def __init__(self, path: Path, renew: bool = False) -> None:
        """``renew``: a damaged store is set aside, and what was measured is measured again."""
        self.path = path
        self._renew = renew
        self._connection = self._with_damage_set_aside(self._opened)

    def get_many(self, keys: Sequence[str]) -> dict[str, Record]:
        """Return the records of those keys that are here."""
        return self._with_damage_set_aside(lambda: self._found(keys))

    def put(self, *records: Record) -> None:
        """Store records, all or none; an older record under the same key gives way."""
        self._with_damage_set_aside(lambda: self._put(records))

    def records(self) -> Iterator[Record]:
        """Every record, by key."""
        query = f"SELECT {', '.join(COLUMNS)} FROM prices ORDER BY key"
        with self._reported():
            for row in self._connection.execute(query):
                try:
                    record = from_row(row)
                except (ValueError, RecursionError) as error:
                    raise DamagedStoreError(self.path, f"price '{row[0]}': {error}") from None
                yield record

    def export(self, path: Path) -> int:
        """Write all records to `path` as lines of JSON; return their number. All or nothing."""
        count = 0
        with written_atomically(path) as partial, partial.open("w", encoding="utf-8") as file:
            file.write(EXPORT_HEADER + "\n")
            for record in self.records():
                file.write(to_line(record) + "\n")
                count += 1
        return count

    def import_(self, path: Path) -> int:
        """Take in what `export` wrote; newer records win. Return how many lines were read."""
        try:
            with path.open("rb") as file:
                if file.readline().strip() != EXPORT_HEADER.encode():
                    raise InputError(
                        str(path), "an export of prices", "something else", "export the store again"
                    )
                lines = enumerate(file, start=2)
                records = [from_line(line, f"{path}:{number}") for number, line in lines]
        except OSError as error:
            raise InputError(
                str(path), "a file that can be read", why(error), "check the path"
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

    def _opened(self) -> sqlite3.Connection:
        with self._reported():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            connection = sqlite3.connect(
                self.path, timeout=BUSY_TIMEOUT_S, isolation_level=None, check_same_thread=True
            )
        connection.text_factory = _text  # damage is found by what records hold
        try:
            with self._reported():
                migrate(connection, self.path)
        except BaseException:
            connection.close()
            raise
        return connection

    def _found(self, keys: Sequence[str]) -> dict[str, Record]:
        found: dict[str, Record] = {}
        with self._reported():
            for start in range(0, len(keys), _KEYS_PER_QUERY):
                part = keys[start : start + _KEYS_PER_QUERY]
                marks = ", ".join("?" * len(part))
                query = f"SELECT {', '.join(COLUMNS)} FROM prices WHERE key IN ({marks})"
                for row in self._connection.execute(query, part).fetchall():
                    try:
                        found[row[0]] = from_row(row)
                    except (ValueError, RecursionError) as error:
                        self._forget(row[0], str(error))
        return found

    def _forget(self, key: str, reason: str) -> None:
        """Remove a damaged record, whose date could keep a new one out."""
        LOG.warning("%s: price '%s' is damaged (%s), so it is removed", self.path, key, reason)
        with self._transaction():
            self._connection.execute("DELETE FROM prices WHERE key = ?", (key,))

    def _put(self, records: Sequence[Record]) -> None:
        with self._reported(), self._transaction():
            self._connection.executemany(_INSERT, [to_row(record) for record in records])

    def _with_damage_set_aside(self, action: Callable[[], Result]) -> Result:
        try:
            return action()
        except DamagedStoreError as error:
            if not self._renew:
                raise
            self._set_aside(error)
        return action()

    def _set_aside(self, error: DamagedStoreError) -> None:
        if hasattr(self, "_connection"):
            self._connection.close()
        aside = self.path.with_name(f"{self.path.name}.damaged")
        with self._reported():
            for end in ("-wal", "-shm"):
                self.path.with_name(f"{self.path.name}{end}").unlink(missing_ok=True)
            self.path.replace(aside)
        LOG.warning("%s: damaged (%s), so it is set aside as %s and prices are measured anew",
                    self.path, error.got, aside)  # fmt: skip
        if hasattr(self, "_connection"):
            self._connection = self._opened()

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
        except OSError as error:
            raise _unusable(self.path, why(error), "check the path") from None
        except UnicodeDecodeError:  # SQLite's message quotes what the file holds
            raise DamagedStoreError(self.path, "names that are no text") from None
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
            if code not in _UNUSABLE:
                raise DamagedStoreError(self.path, one_line(why(error))) from None
            raise _unusable(self.path, why(error), _UNUSABLE[code]) from None


def _unusable(path: Path, reason: str, next_step: str) -> InputError:
    return InputError(str(path), "a price store that can be used", reason, next_step)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def utc(moment: datetime) -> str:
    """The one spelling of a date in the store: `2026-01-31T12:00:00Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
