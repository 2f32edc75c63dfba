"""Schema of the price store, as the list of steps that lead to it."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from layoutopt.errors import InputError

APPLICATION_ID = 0x4C4F5054
"""Marks the file as ours ("LOPT"), for `file` and against mistaken paths."""

BUSY_TIMEOUT_S = 60.0

STEPS = (
    """
    CREATE TABLE prices (
      key TEXT PRIMARY KEY,
      target_fingerprint TEXT NOT NULL,
      iree_version TEXT NOT NULL,
      flags TEXT NOT NULL,
      text TEXT NOT NULL,
      outcome TEXT NOT NULL,
      samples_ns TEXT NOT NULL,
      reason TEXT NOT NULL,
      command TEXT NOT NULL,
      date_utc TEXT NOT NULL,
      machine TEXT NOT NULL
    )
    """,
)
"""Step i leads from version i to version i + 1. Steps are only ever added."""


def migrate(connection: sqlite3.Connection, path: Path, steps: tuple[str, ...] = STEPS) -> None:
    """Bring a store to the newest version; InputError where it is newer still, or not ours."""
    if _is_current(connection, path, steps):
        connection.execute("PRAGMA synchronous = NORMAL")
        return
    _use_wal(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        if not _is_current(connection, path, steps):  # another process may have been faster
            for step in steps[_version(connection) :]:
                connection.execute(step)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {len(steps)}")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise
    connection.execute("COMMIT")


def _is_current(connection: sqlite3.Connection, path: Path, steps: tuple[str, ...]) -> bool:
    version = _version(connection)
    # In this order: another process may make the store meanwhile, tables and id at once.
    (tables,) = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    if tables and application != APPLICATION_ID:
        raise InputError(
            str(path), "a price store", "another SQLite database", "choose another path"
        )
    if version > len(steps):
        raise InputError(
            str(path),
            f"a price store of version {len(steps)} or older",
            f"version {version}",
            "update layoutopt or choose another path",
        )
    return version == len(steps)


def _version(connection: sqlite3.Connection) -> int:
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    return int(version)


def _use_wal(connection: sqlite3.Connection) -> None:
    """Switch to WAL; SQLite does not wait for this lock by itself."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.02)
