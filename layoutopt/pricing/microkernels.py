"""Which tiles of ``linalg.mmt4d`` IREE has a microkernel for on this machine: found by trying.

A target's file lists tiles of many processors. IREE 3.13 computes wrong numbers for a tile that no
microkernel of the processor has, or is slow on it, and does not say which these are. So each is
timed once, on rows of its own height, against others of that height; what comes out is kept with
the other prices, by processor and version of IREE.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from layoutopt.ir.graph import Graph, Structured
from layoutopt.ir.types import numpy_dtype
from layoutopt.pricing.measure.benchmark import Benchmark, Case, Operand, Result
from layoutopt.pricing.prices import Measured, Pricer
from layoutopt.profiles.target import Target, Tile
from layoutopt.runtime.progress import Silent

_SIZE = 256
"""Columns, and terms of each sum: weights that stay in a core's caches."""
_SLOWER = 1.1
"""Times the best at which a tile is no longer as good."""
_SCALAR = 1 / 50
"""Of the processor's rate, what a loop without vector instructions stays below."""
_SUMS = {"i8": "i32"}
"""What products of an element type are summed in, where that is not f32."""


def with_microkernels(target: Target, pricer: Pricer, graphs: Iterable[Graph]) -> Target:
    """The target with those of its tiles that are fast here, of element types that are used.

    A target that nothing is measured for stays as it is.
    """
    if not isinstance(pricer, Measured) or not target.device.startswith("local"):
        return target
    elements = {
        graph.types[op.sources[0]].element
        for graph in graphs
        for op in graph.ops
        if isinstance(op, Structured) and op.is_contraction
    }
    tried = [
        (element, tile)
        for element, tiles in sorted(target.tiles.items())
        for tile in tiles
        if tile.mmt4d and element in elements
    ]
    benchmarks = [mmt4d_benchmark(element, tile, target.flags) for element, tile in tried]
    measured = pricer.measurer.measure(benchmarks, Silent(), list(range(len(tried))))
    times: dict[str, dict[Tile, float]] = {element: {} for element in elements}
    for (element, tile), found in zip(tried, measured, strict=True):
        gflops = target.rates.gflops.get(element, 0.0)
        if found.ok and _operations(tile) >= _SCALAR * gflops * found.fastest_ns:
            times[element][tile] = found.fastest_ns
    tiles = {
        element: tuple(
            tile
            for tile in listed
            if not tile.mmt4d or element not in elements or _is_fast(tile, times[element])
        )
        for element, listed in target.tiles.items()
    }
    return replace(target, tiles=tiles)


def _is_fast(tile: Tile, times: Mapping[Tile, float]) -> bool:
    """Whether no tile of its height is faster, and none of fewer rows by the row."""
    if tile not in times:
        return False
    best_ns = min(ns * tile.m / other.m for other, ns in times.items() if other.m <= tile.m)
    return times[tile] <= _SLOWER * best_ns


def _operations(tile: Tile) -> int:
    return 2 * tile.m * _SIZE * _SIZE


def mmt4d_benchmark(element: str, tile: Tile, flags: Sequence[str]) -> Benchmark:
    """A ``linalg.mmt4d`` of one row of tiles, on whole numbers, whose sums are exact."""
    sums = _SUMS.get(element, "f32")
    columns, terms = -(-_SIZE // tile.n), -(-_SIZE // tile.k)
    shapes = (1, terms, tile.m, tile.k), (columns, terms, tile.n, tile.k)
    made = (1, columns, tile.m, tile.n)
    lhs, rhs = (f"tensor<{'x'.join(map(str, shape))}x{element}>" for shape in shapes)
    out = f"tensor<{'x'.join(map(str, made))}x{sums}>"
    zero = "0" if sums.startswith("i") else "0.0"
    body = f"""
      %zero = arith.constant {zero} : {sums}
      %empty = tensor.empty() : {out}
      %init = linalg.fill ins(%zero : {sums}) outs(%empty : {out}) -> {out}
      %r = linalg.mmt4d ins(%x, %y : {lhs}, {rhs}) outs(%init : {out}) -> {out}"""

    def case() -> Case:
        random = np.random.default_rng(0)
        x, y = (random.integers(-3, 4, shape) for shape in shapes)
        right = np.einsum("MKmk,NKnk->MNmn", x, y)
        arrays = tuple(array.astype(numpy_dtype(element)) for array in (x, y))
        return Case(arrays, (), (right.astype(numpy_dtype(sums)),))

    operands = Operand("%x", lhs), Operand("%y", rhs)
    return Benchmark(operands, (), body, (Result("%r", out),), tuple(flags), case)
