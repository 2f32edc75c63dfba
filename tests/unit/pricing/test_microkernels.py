"""Which tiles are left of those that a target lists, by what trying them says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from layoutopt.ir.graph import Graph
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.microkernels import mmt4d_benchmark, with_microkernels
from layoutopt.pricing.prices import Analytic, Measured
from layoutopt.profiles.target import Target, Tile, load_target
from layoutopt.runtime.outcome import Measurement, Outcome
from layoutopt.runtime.progress import Progress
from tests.parsing import lifted

HOST = load_target("host")
WRONG = Measurement(Outcome.MISMATCH, (), "4 of 4 values are wrong")


class Tried:
    """Answers by tile, and notes what it was asked for."""

    def __init__(self, gflops: dict[Tile, float]) -> None:
        self.times = {t: 2 * t.m * 256 * 256 / rate for t, rate in gflops.items()}
        self.asked: list[Benchmark] = []

    def measure(
        self,
        benchmarks: Sequence[Benchmark],
        progress: Progress | None = None,
        group: Sequence[int] | None = None,
    ) -> list[Measurement]:
        self.asked += benchmarks
        known = {mmt4d_benchmark(e, t, HOST.flags).text: t for e in ("f32", "i8") for t in TILES}
        tiles = [known[benchmark.text] for benchmark in benchmarks]
        return [
            Measurement(Outcome.OK, (round(self.times[t]),) * 3) if t in self.times else WRONG
            for t in tiles
        ]

    def known(self, benchmarks: Sequence[Benchmark]) -> list[Measurement | None]:
        return [None] * len(benchmarks)

    def outputs(self, benchmark: Benchmark) -> None:
        return None


TALL, HALF, LOW, OTHER, GENERIC = (
    Tile(16, 16, 1), Tile(8, 16, 1), Tile(1, 16, 1), Tile(8, 8, 1), Tile(8, 8, 8, False)
)  # fmt: skip
TILES = (TALL, HALF, LOW, OTHER)


def target(gflops: float = 100.0) -> Target:
    rates = replace(HOST.rates, gflops={"f32": gflops, "i8": gflops})
    return replace(HOST, rates=rates, tiles={"f32": (*TILES, GENERIC), "i8": TILES})


@pytest.fixture
def matmul() -> Graph:
    return lifted(
        """func.func @main(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>, %z: tensor<4x4xf32>)
            -> tensor<4x4xf32> {
          %m = linalg.matmul ins(%x, %y : tensor<4x8xf32>, tensor<8x4xf32>)
              outs(%z : tensor<4x4xf32>) -> tensor<4x4xf32>
          return %m : tensor<4x4xf32>
        }"""
    )


@pytest.mark.parametrize(
    ("gflops", "left"),
    [
        ({TALL: 90.0, HALF: 80.0, LOW: 20.0, OTHER: 75.0}, (TALL, HALF, LOW, OTHER)),
        ({TALL: 90.0, HALF: 80.0, LOW: 20.0, OTHER: 50.0}, (TALL, HALF, LOW)),
        ({TALL: 90.0, LOW: 20.0}, (TALL, LOW)),  # the others compute wrong numbers
        ({TALL: 50.0, HALF: 80.0, LOW: 20.0}, (HALF, LOW)),  # slower by the row
        ({TALL: 1.5, HALF: 1.5, LOW: 1.9}, ()),  # no vector instructions
        ({}, ()),
    ],
)
def test_tiles_that_are_right_and_fast_stay(
    gflops: dict[Tile, float], left: tuple[Tile, ...], matmul: Graph
) -> None:
    tried = Tried(gflops)
    found = with_microkernels(target(), Measured(tried), [matmul])
    assert found.tiles["f32"] == (*left, GENERIC)
    assert found.tiles["i8"] == TILES  # the model has no such contraction
    assert len(tried.asked) == len(TILES)


def test_nothing_is_tried_for_what_is_not_here(matmul: Graph) -> None:
    given = target()
    assert with_microkernels(given, Analytic(given), [matmul]) is given
    elsewhere = replace(given, device="cuda")
    assert with_microkernels(elsewhere, Measured(Tried({})), [matmul]) is elsewhere


@pytest.mark.parametrize("element", ["f32", "f16", "bf16", "i8"])
def test_what_is_tried_is_exact(element: str) -> None:
    case = mmt4d_benchmark(element, Tile(4, 16, 2), ()).case()
    x, y = (array.astype(np.float64) for array in case.arguments)
    assert x.shape == (1, 128, 4, 2)
    assert y.shape == (16, 128, 16, 2)
    right = np.einsum("MKmk,NKnk->MNmn", x, y)
    np.testing.assert_array_equal(case.results[0].astype(np.float64), right)
