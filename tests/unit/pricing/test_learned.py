"""What counts as running in one way, so that one price tells of another."""

import math
from dataclasses import replace

import pytest

from layoutopt.candidates.scheduled import excess_instructions, instructions
from layoutopt.compiler.processor import Processor
from layoutopt.ir.extensions.attention import Attention
from layoutopt.ir.types import TensorType
from layoutopt.pricing.learned import (
    FEWEST,
    Described,
    expected,
    how_it_runs,
    known_before,
    names_of,
)
from layoutopt.profiles.experience import Experience, Row


def attention(tokens: int) -> tuple[Attention, tuple[TensorType, ...]]:
    maps = ((0, 2), (3, 2), (3, 1), (0, 1))
    op = Attention((0, 1, 2), (3,), maps, "1.0 : f16")
    return op, (TensorType((tokens, 64), "f16"),) * 4


def test_an_attention_in_whole_tiles_runs_in_another_way() -> None:
    ragged, padded, other = (how_it_runs(*attention(n)) for n in (1500, 1504, 1536))
    assert padded == other
    assert ragged != padded


def tile(rows: int, columns: int, log_instructions: float) -> Described:
    """Of a contraction of 197 rows: all tiles have the same loops."""
    labels = (None, "scheduled", "by one rule", "loops", ("loops", (rows, columns)))
    return Described(labels, (7.6, 7.6, 6.0, 3.6, 21.5, 0.0), 1e6, log_instructions)


def test_a_slow_tile_of_one_row_says_little_of_one_of_six() -> None:
    """What is left is tried in the order of what it needs: one slow tile is no answer for all."""
    registers = Processor.AVX2.registers
    logs = [
        math.log2(excess_instructions((197, 197), (rows, columns), registers))
        for rows, columns in ((1, 32), (6, 16))
    ]
    assert logs[0] > logs[1] == 0.0
    others = [replace(tile(8, 8, 0.0), place=(5.0 + n,) * 6) for n in range(FEWEST)]
    work = [*others, tile(1, 32, logs[0]), tile(6, 16, logs[1])]
    known = dict.fromkeys(range(FEWEST), 1600000.0) | {FEWEST: 2.8e6}
    found = expected(work, known)
    assert found is not None
    assert found.at(0.0)[-1] < 2.5e6
    without = expected([replace(each, log_instructions=0.0) for each in work], known)
    assert without is not None
    assert found.at(0.0)[-1] < 0.9 * without.at(0.0)[-1]


@pytest.mark.parametrize(
    ("size", "of_tile", "needed"),
    [
        ((12, 32), (6, 16), (12 + 2 + 6) / 12),
        ((12, 32), (1, 32), (4 + 4 + 1) / 4),
        ((13, 16), (6, 16), (2 * (12 + 2 + 6) + 2 + 2 + 1) / 26),  # a row is left
        ((6, 21), (6, 16), (12 + 2 + 6 + 6 + 1 + 6) * 8 / (6 * 21)),  # a part of a vector is left
    ],
)
def test_instructions_are_those_of_all_parts(
    size: tuple[int, int], of_tile: tuple[int, int], needed: float
) -> None:
    registers = Processor.AVX2.registers
    assert instructions(size, of_tile, registers) == pytest.approx(needed)


def seen(work: list[Described], log_ratios: dict[str, float]) -> Experience:
    """Prices of a processor on which each kind of loops has a ratio of its own."""
    labels = sorted({name for each in work for name in names_of(each)})
    numbers = [tuple(labels.index(name) for name in names_of(each)) for each in work]
    rows = zip(work, numbers, strict=True)
    ratios = [log_ratios[str(each.loops)] for each in work]
    return Experience(
        tuple(labels),
        tuple(Row(n, e.place, r) for (e, n), r in zip(rows, ratios, strict=True)),
    )


@pytest.mark.parametrize("one", ["scheduled", "tiled"])
def test_prices_tell_which_processor_this_one_is_like(one: str) -> None:
    """On each of two, other loops are the fast ones; one half of what is here has prices."""
    other = {"scheduled": "tiled", "tiled": "scheduled"}[one]
    work = [
        Described((None, loops, loops, loops, (loops, ())), (5.0 + n / 4,) * 6, 1e6)
        for n in range(FEWEST)
        for loops in ("scheduled", "tiled")
    ]
    experiences = (
        seen(work, {"scheduled": 0.0, "tiled": 3.0}),
        seen(work, {"scheduled": 3.0, "tiled": 0.0}),
    )
    names = [names_of(each) for each in work]
    before = [known_before(work, names, each) for each in experiences]
    fast, slow = ([i for i, each in enumerate(work) if each.loops == way] for way in (one, other))
    known = dict.fromkeys(fast[: FEWEST // 2], 1000000.0) | dict.fromkeys(
        slow[: FEWEST // 2], 8000000.0
    )
    found = expected(work, known, before)
    assert found is not None
    assert found.trusted > 0.8
    times = found.at(0.0)
    assert max(times[i] for i in fast) < 2e6 < 6e6 < min(times[i] for i in slow)
