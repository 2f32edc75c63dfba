"""Ranges of sizes: what lies in them, how they read, whether bodies share them out."""

import pytest

from layoutopt.ir.size_range import (
    Ranges,
    SizeRange,
    body_name,
    ranges_text,
    serve_each_once,
    serves,
)

SMALL, MIDDLE, LARGE = SizeRange("s", None, 11), SizeRange("s", 11, 90), SizeRange("s", 90, None)


@pytest.mark.parametrize(
    ("sizes", "inside", "text"),
    [
        (SMALL, [1, 11], "s <= 11"),
        (MIDDLE, [12, 90], "11 < s <= 90"),
        (LARGE, [91, 4096], "s > 90"),
    ],
)
def test_a_range_holds_its_upper_end_only(sizes: SizeRange, inside: list[int], text: str) -> None:
    numbers = [1, 11, 12, 90, 91, 4096]
    assert [n for n in numbers if n in sizes] == inside
    assert str(sizes) == text


def test_bodies_are_named_by_their_sizes() -> None:
    both = (SMALL, SizeRange("b", 2, None))
    assert ranges_text(both) == "s <= 11, b > 2"
    assert body_name("main", both) == "main at s <= 11, b > 2"
    assert body_name("main", ()) == "main"
    assert serves(both, {"s": 11, "b": 3})
    assert not serves(both, {"s": 11, "b": 2})
    assert serves((), {})


@pytest.mark.parametrize(
    ("bodies", "shared_out"),
    [
        ([()], True),
        ([(SMALL,), (MIDDLE,), (LARGE,)], True),
        ([(SMALL,), (LARGE,)], False),
        ([(SMALL,), (MIDDLE,)], False),
        ([(SMALL,), (MIDDLE,), (LARGE,), (LARGE,)], False),
        ([(SMALL,), ()], False),
        (
            [(SMALL, SizeRange("b", None, 2)), (SMALL, SizeRange("b", 2)), (SizeRange("s", 11),)],
            True,
        ),
        ([(SMALL, SizeRange("b", None, 2)), (SizeRange("s", 11),)], False),
    ],
)
def test_each_size_has_one_body(bodies: list[Ranges], shared_out: bool) -> None:
    assert serve_each_once(bodies) == shared_out
