"""Files of a cache that tell whether they are whole."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path

import pytest

from layoutopt.files.sealed import is_sealed, sealed, unsealed
from layoutopt.planning.known_refusals import KnownRefusals


@dataclass(frozen=True, slots=True)
class Kept:
    name: str
    times: tuple[float, ...]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "kept.json"
    path.write_text(sealed({"name": "a", "times": [1.5, math.inf]}))
    return path


def test_what_was_kept_comes_back(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert unsealed(path, Kept) == Kept("a", (1.5, math.inf))
    assert is_sealed(path, Kept)
    assert unsealed(path.with_name("none"), Kept) is None
    assert not is_sealed(path.with_name("none"), Kept)
    assert caplog.messages == []


@pytest.mark.parametrize("position", [0, 30, 64, 70, -3])
def test_each_changed_byte_is_damage(
    path: Path, position: int, caplog: pytest.LogCaptureFixture
) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1
    path.write_bytes(bytes(content))
    assert unsealed(path, Kept) is None
    assert caplog.messages == [f"{path}: damaged (its digest is another one), so it is made anew"]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"name": "a"}, "Object missing required field `times`"),
        ([1], "Expected `object`, got `array`"),
        ({"name": 1, "times": []}, "Expected `str`, got `int` - at `$.name`"),
    ],
)
def test_another_kind_of_value_is_damage(
    path: Path, value: object, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    path.write_text(sealed(value))
    assert unsealed(path, Kept) is None
    assert caplog.messages == [f"{path}: damaged ({reason}), so it is made anew"]


def test_a_folder_in_its_place_is_damage(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert unsealed(tmp_path, Kept) is None
    assert caplog.messages == [f"{tmp_path}: damaged (is a directory), so it is made anew"]


@pytest.mark.parametrize("content", [b"", b"[1", b"\xff\xfe", b'["a"]', b"{}\n" * 9])
def test_damaged_candidates_to_avoid_are_forgotten(tmp_path: Path, content: bytes) -> None:
    first = KnownRefusals(tmp_path, ["key"])
    (name,) = first._names
    (tmp_path / name).write_bytes(content)
    assert KnownRefusals(tmp_path, ["key"]).digests == [frozenset()]
    (tmp_path / name).write_text(sealed(["a"]))
    assert KnownRefusals(tmp_path, ["key"]).digests == [frozenset({"a"})]
    assert json.loads((tmp_path / name).read_text().splitlines()[1]) == ["a"]
