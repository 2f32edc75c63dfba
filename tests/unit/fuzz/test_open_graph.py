"""Random functions of open sizes: valid, the same for a seed, and held to the oracle."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np

from layoutopt.ir.planned_sizes import open_sizes
from layoutopt.mlir.module import parse_module
from tests.fuzz.open_batch import difference
from tests.fuzz.open_graph import OpenGraph, opened
from tests.fuzz.settings import graph

MANY = 60


def _some(count: int) -> list[OpenGraph]:
    found = (opened(graph(2, n), random.Random(n)) for n in range(count))
    return [g for g in found if g is not None]


def test_a_seed_gives_the_same_function() -> None:
    one, other = _some(10), _some(10)
    assert [g.text("f") for g in one] == [g.text("f") for g in other]
    assert [g.cases for g in one] == [g.cases for g in other]


def test_functions_are_read_as_open_and_have_results_at_several_sizes(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for made in _some(MANY):
        path = tmp_path / "open.mlir"
        path.write_text(made.text("f"))
        (read,) = parse_module(path).graphs
        symbols = open_sizes(read)
        assert symbols, made.text("f")
        seen["several"] += len(symbols) > 1
        seen["bounded"] += any(s.high < 1000 for s in symbols)
        seen["divided"] += any("/" in s.name for s in symbols)
        seen["shifted"] += "arith.subi" in made.text("f") or "arith.addi" in made.text("f")
        for numbers in made.cases:
            results = made.results(numbers, made.arguments(numbers, "seed"))
            seen["right"] += results is not None
    assert min(seen[k] for k in ("several", "bounded", "divided", "shifted")) > 2
    assert seen["right"] > 100


def test_whole_numbers_have_to_be_equal_and_others_nearly() -> None:
    wanted = [np.asarray([1, 1000])]
    assert difference([np.asarray([2, 1000])], wanted, 0.1) == (
        "result 0: expected 1 at (0,), but got 2 (1 of 2 differ, 0 allowed)"
    )
    floats = [np.asarray([1.0, 1000.0], np.float32)]
    assert difference([floats[0] + np.float32(0.5)], floats, 1e-3) == ""
    assert difference([floats[0] * np.float32(1.01)], floats, 1e-3) == (
        "result 0: expected 1000.0 at (1,), but got 1010.0 (1 of 2 differ, 1 allowed)"
    )
