"""An invalid target or price store: one line each."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.profiles.target import target_text
from tests.errors.failing import failure


def test_unknown_profile_names_the_known_ones(
    capsys: pytest.CaptureFixture[str], model: Path
) -> None:
    text = failure(capsys, "optimize", str(model), "--profile=toaster")
    assert text.startswith("profile 'toaster': expected one of ")
    assert "host" in text
    assert "mi355x" in text


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"\xff", "{}: expected text in UTF-8, but got an invalid byte at position 0; save it as "
         "UTF-8"),
        (b"x = [", "profile '{}': expected valid TOML, but got Invalid value (at end of "
         "document); correct the file"),
        (b"name = 'x'", "profile '{}': compile: expected a table, but got none; compare with "
         "`layoutopt targets --show mi355x`"),
        (b"x = " + b"[" * 100_000, "profile '{}': expected valid TOML, but got lists nested too "
         "deep; correct the file"),
    ],
)  # fmt: skip
def test_profiles_that_are_none(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, content: bytes, text: str
) -> None:
    path = tmp_path / "target.toml"
    path.write_bytes(content)
    assert failure(capsys, "targets", "--show", str(path)) == text.format(path)


def test_a_flag_of_a_profile_is_true_or_false(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "target.toml"
    path.write_text(target_text("mi355x").replace("measurable = false", "measurable = 'no'"))
    text = failure(capsys, "targets", "--show", str(path))
    assert text.endswith(
        ": run.measurable: expected true or false, but got 'no'; compare with "
        "`layoutopt targets --show mi355x`"
    )


def test_a_price_store_that_is_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = tmp_path / "prices.sqlite"
    path.write_bytes(b"this is not a database" * 100)
    text = failure(capsys, "profile", "show", "--cache", str(tmp_path))
    assert text == (
        f"{path}: expected a price store, but got file is not a database; move the file away to "
        "start anew"
    )
