"""Two processes may make one store at once."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import cast

import pytest

from layoutopt.profiles.store_schema import migrate


class Overtaken:
    """A connection; behind its statement number ``at`` another process makes the store."""

    def __init__(self, path: Path, at: int) -> None:
        self.path, self.at = path, at
        self.real = sqlite3.connect(path, isolation_level=None)
        self.statements = 0

    @property
    def in_transaction(self) -> bool:
        return self.real.in_transaction

    def execute(self, statement: str) -> Rows:
        rows = Rows(self.real.execute(statement).fetchall())
        if self.statements == self.at:
            migrate(sqlite3.connect(self.path, isolation_level=None), self.path)
        self.statements += 1
        return rows


class Rows:
    def __init__(self, rows: list[tuple[int]]) -> None:
        self.rows = rows

    def fetchone(self) -> tuple[int]:
        return self.rows[0]


@pytest.mark.parametrize("at", range(3))
def test_another_process_may_be_faster(tmp_path: Path, at: int) -> None:
    path = tmp_path / "prices.sqlite"
    overtaken = Overtaken(path, at)
    migrate(cast("sqlite3.Connection", overtaken), path)
    assert overtaken.statements > at
