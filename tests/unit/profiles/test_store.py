from __future__ import annotations

import re
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from layoutopt.errors import InputError
from layoutopt.profiles.store import Holding, Store, store_path, utc
from layoutopt.profiles.store_record import Provenance, Record
from layoutopt.profiles.store_schema import APPLICATION_ID, STEPS, migrate

ROOT = Path(__file__).parents[3]


def record(key: str = "k", date_utc: str = "2026-01-01T00:00:00Z", **changes: object) -> Record:
    made = Record(
        key=key,
        target_fingerprint="host",
        iree_version="3.13.0",
        flags=("--a", "--b=c d"),
        text="func.func @candidate() {\n}",
        outcome="ok",
        samples_ns=(1200, 1300),
        reason="",
        provenance=Provenance("layoutopt optimize m.mlir", date_utc, "box x86_64"),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def test_a_record_comes_back_as_it_was_put(tmp_path: Path) -> None:
    with Store(tmp_path / "new" / "prices.sqlite") as store:
        store.put(record())
    with Store(tmp_path / "new" / "prices.sqlite") as store:
        assert store.get_many(["k", "unknown"]) == {"k": record()}


def test_many_keys_at_once(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        store.put(*(record(str(number)) for number in range(1203)))
        assert len(store.get_many([str(number) for number in range(1300)])) == 1203


def test_the_newer_record_stays(tmp_path: Path) -> None:
    old, new = record(reason="old"), record(date_utc="2026-01-02T00:00:00Z", reason="new")
    with Store(tmp_path / "s") as store:
        store.put(new)
        store.put(old)
        assert store.get_many(["k"])["k"].reason == "new"
        store.put(replace(new, reason="same date, later"))
        assert store.get_many(["k"])["k"].reason == "same date, later"


def test_export_and_import(tmp_path: Path) -> None:
    with Store(tmp_path / "a") as one, Store(tmp_path / "b") as other:
        one.put(record("k2"), record("k1", outcome="run-crash", samples_ns=(), reason="crashed"))
        assert one.export(tmp_path / "prices.jsonl") == 2
        assert other.import_(tmp_path / "prices.jsonl") == 2
        assert list(other.records()) == list(one.records())
        other.export(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_text() == (tmp_path / "prices.jsonl").read_text()
    assert sorted(path.name for path in tmp_path.glob("*.partial")) == []


def test_merge(tmp_path: Path) -> None:
    with Store(tmp_path / "a") as one, Store(tmp_path / "b") as other:
        one.put(record("both", reason="old"))
        other.put(record("both", "2026-02-01T00:00:00Z", reason="new"), record("only"))
        assert one.merge(tmp_path / "b") == 2
        assert [(r.key, r.reason) for r in one.records()] == [("both", "new"), ("only", "")]
        with pytest.raises(InputError) as caught:
            one.merge(tmp_path / "c")
    assert str(caught.value) == (
        f"{tmp_path / 'c'}: expected a price store, but got no such file; check the path"
    )
    assert not (tmp_path / "c").exists()


def test_prune_removes_what_meets_all_conditions(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    with Store(tmp_path / "s") as store:
        store.put(
            record("old", utc(now - timedelta(days=40))),
            record("new", utc(now)),
            record("other", utc(now - timedelta(days=40)), iree_version="3.12.0"),
            record("bad", utc(now), outcome="mismatch"),
        )
        assert store.prune(older_than=timedelta(days=30), iree_version="3.13.0") == 1
        assert [r.key for r in store.records()] == ["bad", "new", "other"]
        assert store.prune(refusals=True) == 1
        assert store.prune(target_fingerprint="mi355x") == 0
        assert store.prune(target_fingerprint="host") == 2
        with pytest.raises(InputError) as caught:
            store.prune()
    assert str(caught.value) == (
        "prune: expected at least one condition, but got none; say what to remove"
    )


def test_summary(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store:
        store.put(record("a"), record("b", "2026-03-01T00:00:00Z"), record("c", outcome="mismatch"))
        assert store.summary() == (
            Holding(
                "host", "3.13.0", "mismatch", 1, "2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z"
            ),
            Holding("host", "3.13.0", "ok", 2, "2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z"),
        )


def test_a_file_that_is_not_a_database_is_refused_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "prices.sqlite"
    path.write_text("these are my own notes, keep them\n" * 100)
    with pytest.raises(InputError) as caught:
        Store(path)
    assert str(caught.value) == (
        f"{path}: expected a price store, but got file is not a database; "
        "move the file away to start anew"
    )
    assert path.read_text().startswith("these are my own notes")


def test_a_damaged_store_is_reported_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "prices.sqlite"
    with Store(path) as store:
        store.put(*(record(str(number), text="x" * 5000) for number in range(50)))
    content = bytearray(path.read_bytes())
    content[4096:] = b"\xff" * (len(content) - 4096)
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match="expected a price store, but got"), Store(path) as store:
        list(store.records())
    assert path.read_bytes()[-1] == 0xFF


def test_a_store_whose_names_are_no_text_is_reported_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "prices.sqlite"
    with Store(path) as store:
        store.put(record("1"))
    content = bytearray(path.read_bytes())
    content[content.index(b"CREATE TABLE") + len(b"CREATE TABLE ")] = 0xB9
    path.write_bytes(bytes(content))
    with pytest.raises(InputError, match="expected a price store, but got"):
        Store(path)


def test_another_database_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE recipes (name TEXT)")
    connection.close()
    with pytest.raises(InputError) as caught:
        Store(path)
    assert str(caught.value) == (
        f"{path}: expected a price store, but got another SQLite database; choose another path"
    )


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "prices.sqlite"
    Store(path).close()
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(InputError) as caught:
        Store(path)
    assert str(caught.value) == (
        f"{path}: expected a price store of version {len(STEPS)} or older, but got version 99; "
        "update layoutopt or choose another path"
    )


def test_an_older_version_is_migrated_with_its_records(tmp_path: Path) -> None:
    path = tmp_path / "prices.sqlite"
    with Store(path) as store:
        store.put(record())
    connection = sqlite3.connect(path, isolation_level=None)
    migrate(connection, path, (*STEPS, "ALTER TABLE prices ADD COLUMN joules REAL"))
    assert connection.execute("SELECT key, joules FROM prices").fetchall() == [("k", None)]
    assert connection.execute("PRAGMA user_version").fetchone() == (len(STEPS) + 1,)
    assert connection.execute("PRAGMA application_id").fetchone() == (APPLICATION_ID,)
    connection.close()


def test_a_migration_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "prices.sqlite"
    Store(path).close()
    connection = sqlite3.connect(path, isolation_level=None)
    steps = (*STEPS, "ALTER TABLE prices ADD COLUMN joules REAL", "SELECT nonsense")
    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, path, steps)
    connection.close()
    Store(path).close()


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        Store(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path}: expected a price store that can be used, "
        "but got unable to open database file; check the path and its permissions"
    )


def test_a_file_where_a_folder_should_be(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="but got not a directory; check the path"):
        Store(tmp_path / "file" / "deeper" / "prices.sqlite")


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("", ""),
        ("{}\n", ""),
        ('{"layoutopt_prices": 1}\n{"key": 1}\n', ":2"),
        ('{"layoutopt_prices": 1}\nnot json\n', ":2"),
    ],
)
def test_an_import_of_something_else(tmp_path: Path, text: str, where: str) -> None:
    path = tmp_path / "prices.jsonl"
    path.write_text(text)
    with Store(tmp_path / "s") as store:
        with pytest.raises(InputError) as caught:
            store.import_(path)
        assert list(store.records()) == []
    assert str(caught.value).startswith(f"{path}{where}: expected ")
    assert str(caught.value).endswith("; export the store again")


def test_export_to_a_place_that_is_not_there(tmp_path: Path) -> None:
    with Store(tmp_path / "s") as store, pytest.raises(InputError, match="no such file"):
        store.export(tmp_path / "nowhere" / "prices.jsonl")


def test_the_store_path_is_in_the_cache_folder_of_the_user() -> None:
    assert store_path().name == "prices.sqlite"
    assert store_path().parent.name == "layoutopt"


WRITER = """
import sys
from pathlib import Path
from layoutopt.profiles.store import Store
from layoutopt.profiles.store_record import Provenance, Record
path, name, count = sys.argv[1:]
with Store(Path(path)) as store:
    for number in range(int(count)):
        key = f"{name}-{number}"
        store.put(Record(key, "t", "v", (), "x" * 300, "ok", (1, 2), "", Provenance("c", "d", "m")))
        print(key, flush=True)
"""


def writer(path: Path, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)


def test_four_processes_write_at_once(tmp_path: Path) -> None:
    processes = [writer(tmp_path / "s", name, 60) for name in "abcd"]
    for process in processes:
        process.communicate(timeout=60)
    assert [process.returncode for process in processes] == [0, 0, 0, 0]
    with Store(tmp_path / "s") as store:
        assert sum(1 for _ in store.records()) == 240


def test_kill_loses_nothing_that_was_reported(tmp_path: Path) -> None:
    path = tmp_path / "s"
    reported: list[str] = []
    for attempt in range(4):
        process = writer(path, str(attempt), 1_000_000)
        assert process.stdout is not None
        reported.append(process.stdout.readline().strip())
        time.sleep(0.013 * attempt)
        process.send_signal(signal.SIGKILL)
        reported += [line.strip() for line in process.stdout if line.endswith("\n")]
        process.wait()
        process.stdout.close()
    with Store(path) as store:
        assert set(reported) <= set(store.get_many(reported))
        assert len(reported) > 4


def test_a_damaged_store_is_set_aside_where_prices_can_be_measured_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "prices.sqlite"
    path.write_bytes(b"no database" * 100)
    with Store(path, renew=True) as store:
        store.put(record())
        assert store.get_many(["k"]) == {"k": record()}
    aside = tmp_path / "prices.sqlite.damaged"
    assert aside.read_bytes() == b"no database" * 100
    assert caplog.messages == [
        f"{path}: damaged (file is not a database), so it is set aside as {aside} and prices are "
        "measured anew"
    ]


def test_damage_that_is_quoted_over_several_lines_is_told_in_one(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "prices.sqlite"
    with Store(path) as store:
        store.put(record())
    content = path.read_bytes()
    (columns,) = re.findall(rb"flags TEXT NOT NULL,\s+text TEXT NOT NULL", content)
    path.write_bytes(content.replace(columns, b"'" + columns[1:]))
    with Store(path, renew=True) as store:
        store.put(record())
    (message,) = caplog.messages
    assert "so it is set aside" in message
    assert "\n" not in message


def test_damage_that_shows_later_is_set_aside_too(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "prices.sqlite"
    with Store(path) as store:
        store.put(*(record(str(i), text="x" * 5000) for i in range(20)))
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    path.write_bytes(bytes(content))
    with Store(path, renew=True) as store:
        assert store.get_many([str(i) for i in range(20)]) == {}
        store.put(record())
        assert store.get_many(["k"]) == {"k": record()}
    assert len(caplog.messages) == 1


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("flags", "{"), ("flags", "[1]"), ("samples_ns", "[]"), ("samples_ns", '["1"]'),
        ("samples_ns", "[-5]"), ("samples_ns", "[NaN]"), ("outcome", "fine"),
        ("samples_ns", b"\xff"), ("flags", "[" * 100_000),
    ],
)  # fmt: skip
def test_a_damaged_record_counts_as_missing(
    tmp_path: Path, column: str, value: object, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "prices.sqlite"
    with Store(path) as store:
        store.put(record("a"), record("b"))
    with sqlite3.connect(path) as connection:
        connection.execute(f"UPDATE prices SET {column} = ? WHERE key = 'a'", (value,))
    connection.close()
    with Store(path) as store:
        with pytest.raises(InputError, match="expected a price store, but got price 'a': "):
            list(store.records())
        assert store.get_many(["a", "b"]) == {"b": record("b")}
        store.put(record("a"))
        assert store.get_many(["a"]) == {"a": record("a")}
    assert len(caplog.messages) == 1
