"""The folder of converted models."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from layoutopt.errors import InputError
from layoutopt.frontend.converted import ConvertedModel, ConvertedModels, digest_of

SIZE = 1000


def keep(models: ConvertedModels, folder: Path, key: str, **facts: str) -> ConvertedModel:
    module = folder / f"{key}.made"
    module.write_bytes(key.encode().ljust(SIZE, b"."))
    entry = ConvertedModel(digest_of(module), SIZE, True, "3.13/3.13", facts, {}, (), ())
    models.keep(key, module, entry)
    module.unlink()
    return entry


def used(models: ConvertedModels, key: str, days_ago: float) -> None:
    moment = time.time() - days_ago * 86400
    os.utime(models.folder / f"{key}.json", (moment, moment))


@pytest.fixture
def models(tmp_path: Path) -> ConvertedModels:
    return ConvertedModels(tmp_path / "converted", limit_bytes=3 * SIZE)


def test_what_was_kept_is_found(models: ConvertedModels, tmp_path: Path) -> None:
    entry = keep(models, tmp_path, "a")
    assert models.find("a", tmp_path, tmp_path / "out") == entry
    assert (tmp_path / "out").read_bytes().startswith(b"a.")
    assert models.find("b", tmp_path, tmp_path / "other") is None


def test_a_module_that_changed_on_disk_is_not_used(models: ConvertedModels, tmp_path: Path) -> None:
    keep(models, tmp_path, "a")
    stored = models.folder / "a.mlirbc"
    stored.write_bytes(stored.read_bytes()[:-1] + b"!")
    assert models.find("a", tmp_path, tmp_path / "out") is None
    assert not (tmp_path / "out").exists()
    assert models.summary() == (0, 0)


@pytest.mark.parametrize("text", ["", "{", "{}", '{"sha256": 1}'])
def test_an_entry_that_cannot_be_read_is_none(
    models: ConvertedModels, tmp_path: Path, text: str
) -> None:
    keep(models, tmp_path, "a")
    (models.folder / "a.json").write_text(text)
    assert models.find("a", tmp_path, tmp_path / "out") is None
    keep(models, tmp_path, "a")
    assert models.find("a", tmp_path, tmp_path / "out") is not None


def test_a_module_that_is_gone_is_not_found(models: ConvertedModels, tmp_path: Path) -> None:
    keep(models, tmp_path, "a")
    (models.folder / "a.mlirbc").unlink()
    assert models.find("a", tmp_path, tmp_path / "out") is None


def test_a_file_that_the_model_refers_to_counts(models: ConvertedModels, tmp_path: Path) -> None:
    weights = tmp_path / "weights.bin"
    weights.write_bytes(b"1")
    keep(models, tmp_path, "a", **{"weights.bin": digest_of(weights)})
    assert models.find("a", tmp_path, tmp_path / "out") is not None
    weights.write_bytes(b"2")
    assert models.find("a", tmp_path, tmp_path / "again") is None


def test_the_least_recently_used_go_first(models: ConvertedModels, tmp_path: Path) -> None:
    for age, key in enumerate(["a", "b", "c"]):
        keep(models, tmp_path, key)
        used(models, key, days_ago=3 - age)
    assert models.find("a", tmp_path, tmp_path / "out") is not None  # now the newest
    keep(models, tmp_path, "d")
    left = sorted(path.name for path in models.folder.iterdir())
    assert left == [f"{key}.{kind}" for key in "acd" for kind in ("json", "mlirbc")]


def test_what_has_no_room_at_all_is_not_kept(models: ConvertedModels, tmp_path: Path) -> None:
    keep(models, tmp_path, "a")
    entry = keep(ConvertedModels(tmp_path / "elsewhere"), tmp_path, "big")
    models.keep("big", tmp_path / "never read", replace(entry, size_bytes=3 * SIZE + 1))
    assert models.summary() == (1, SIZE)


def test_prune_by_use_and_version(models: ConvertedModels, tmp_path: Path) -> None:
    keep(models, tmp_path, "a")
    keep(models, tmp_path, "b")
    used(models, "a", days_ago=10)
    assert models.prune(timedelta(days=5), "9.9/9.9") == (0, 0)
    assert models.prune(timedelta(days=5), "3.13/3.13") == (1, SIZE)
    assert models.find("a", tmp_path, tmp_path / "out") is None
    assert models.prune() == (1, SIZE)


def test_what_a_killed_process_left_goes_after_a_day(
    models: ConvertedModels, tmp_path: Path
) -> None:
    keep(models, tmp_path, "a")
    new, old = models.folder / ".x.1.partial", models.folder / "y.mlirbc"
    for path in (new, old):
        path.touch()
    os.utime(old, (0, 0))
    keep(models, tmp_path, "b")
    assert new.exists()
    assert not old.exists()


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    models = ConvertedModels(tmp_path / "file")
    with pytest.raises(InputError) as caught:
        keep(models, tmp_path, "a")
    assert str(caught.value) == (
        f"{tmp_path / 'file'}: expected a folder that can be written, but got File exists; "
        "choose another with --cache"
    )
