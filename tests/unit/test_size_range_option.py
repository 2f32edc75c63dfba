"""What the user states of open sizes, as text."""

from __future__ import annotations

import pytest

from layoutopt.errors import InputError
from layoutopt.ir.size import MOST
from layoutopt.options import SizeRange


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("batch=1..64", SizeRange("batch", 1, 64)),
        ("arg0.1=..2048", SizeRange("arg0.1", 0, 2048)),
        ("s=8..%8", SizeRange("s", 8, MOST, 8)),
        ("s=..", SizeRange("s", 0, MOST)),
    ],
)
def test_ranges_are_read(text: str, wanted: SizeRange) -> None:
    assert SizeRange.parse(text) == wanted


@pytest.mark.parametrize("text", ["s", "s=4", "=1..2", "s=1..x", "s=1..2%", "s=-1..2", "s=1...2"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"--dim-range: expected NAME=\[LOW\]..\[HIGH\]"):
        SizeRange.parse(text)


@pytest.mark.parametrize("text", ["s=5..3", "s=1..7%8", "s=1..7%0"])
def test_ranges_without_a_size_are_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"--dim-range s: expected a size in the range, but got"):
        SizeRange.parse(text)
