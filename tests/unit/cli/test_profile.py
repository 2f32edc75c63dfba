from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from layoutopt.cli.main import cli
from layoutopt.errors import InputError
from layoutopt.frontend.converted import (
    ConvertedModel,
    ConvertedModels,
    converted_folder,
    digest_of,
)
from layoutopt.pricing.pricers import at_device
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
        "Removed 3 prices\nRemoved 0 converted models, 0.0 MB\n"
    )


def keep(folder: Path, key: str) -> None:
    module = folder / f"{key}.made"
    module.write_bytes(bytes(2_000_000))
    entry = ConvertedModel(digest_of(module), 2_000_000, True, "3.13.0/3.13.0", {}, {}, (), ())
    ConvertedModels(converted_folder(folder)).keep(key, module, entry)


def test_converted_models_are_shown_and_pruned(tmp_path: Path) -> None:
    fill(tmp_path, "a")
    keep(tmp_path, "one")
    keep(tmp_path, "other")
    shown = "Converted models: 2 converted models, 4.0 MB"
    assert shown in run("profile", "show", "--cache", tmp_path)
    assert run("profile", "prune", "--refusals", "--cache", tmp_path) == "Removed 0 prices\n"
    assert run("profile", "prune", "--models", "--iree", "3.0/3.0", "--cache", tmp_path) == (
        "Removed 0 converted models, 0.0 MB\n"
    )
    assert run("profile", "prune", "--models", "--cache", tmp_path) == (
        "Removed 2 converted models, 4.0 MB\n"
    )
    assert "1  " in run("profile", "show", "--cache", tmp_path)
    assert run("profile", "prune", "--older-than", "0", "--cache", tmp_path) == (
        "Removed 1 prices\nRemoved 0 converted models, 0.0 MB\n"
    )


def test_models_have_no_target(tmp_path: Path) -> None:
    words = ["profile", "prune", "--models", "--refusals", "--cache", str(tmp_path)]
    result = CliRunner().invoke(cli, words)
    assert result.exit_code == 2
    assert "--models does not go with --target or --refusals" in result.output


def test_profile_without_a_model() -> None:
    with pytest.raises(InputError) as caught:
        run("profile", "--profile", "host")
    assert str(caught.value) == (
        "layoutopt profile: expected at least one model, but got none; "
        "name a model, or see `layoutopt profile show`"
    )


def test_help_names_the_subcommands() -> None:
    text = run("profile", "--help")
    assert all(
        f"  {word} " in text for word in ("diff", "export", "import", "merge", "show", "prune")
    )


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
