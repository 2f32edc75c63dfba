from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from layoutopt.cli import cli
from layoutopt.errors import InputError
from layoutopt.pricers import at_device
from layoutopt.profiles.store import Store
from layoutopt.profiles.store_record import Provenance, Record
from layoutopt.profiles.target import known_targets, load_target


def run(*arguments: object) -> str:
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    if result.exception is not None:
        raise result.exception
    return result.output


def fill(folder: Path, *keys: str) -> None:
    with Store(folder / "prices.sqlite") as store:
        store.put(*(
            Record(key, "host:1 local-sync threads=1", "3.13.0/3.13.0", (), "text", "ok", (7,), "",
                   Provenance("test", "2026-01-01T00:00:00Z", "box"))
            for key in keys
        ))  # fmt: skip


def test_prices_travel(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    fill(one, "a", "b")
    fill(other, "c")
    file = tmp_path / "prices.jsonl"
    assert run("profile", "export", file, "--cache", one) == f"Wrote 2 prices to {file}\n"
    assert run("profile", "import", file, "--cache", other) == f"Read 2 prices from {file}\n"
    store = other / "prices.sqlite"
    assert run("profile", "merge", store, "--cache", one) == f"Read 3 prices from {store}\n"
    shown = run("profile", "show", "--cache", one)
    assert "host:1" in shown
    assert " 3 " in shown
    assert run("profile", "prune", "--iree", "3.13.0/3.13.0", "--cache", one) == (
        "Removed 3 prices\n"
    )


def test_profile_without_a_model() -> None:
    with pytest.raises(InputError) as caught:
        run("profile", "--profile", "host")
    assert str(caught.value) == (
        "layoutopt profile: expected at least one model, but got none; "
        "name a model, or see `layoutopt profile show`"
    )


def test_help_names_the_subcommands() -> None:
    text = run("profile", "--help")
    assert all(f"  {word} " in text for word in ("export", "import", "merge", "show", "prune"))


def test_targets() -> None:
    text = run("targets")
    assert all(name in text for name in known_targets())
    shown = run("targets", "--show", "mi300x")
    assert 'name = "mi300x"' in shown
    assert "data sheet" in shown


def test_a_device_or_a_farm_makes_a_target_measurable() -> None:
    absent = load_target("mi355x")
    assert not at_device(absent, None, None, 1).measurable
    assert at_device(absent, "hip://1", None, 1).device == "hip://1"
    assert at_device(absent, None, "tcp://farm:8786", 1).measurable
    assert at_device(load_target("host"), None, None, 2).device == "local-task"
