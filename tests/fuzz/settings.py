"""What a run of the fuzzer is given, and the targets that it plans for."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from pathlib import Path

from layoutopt.compiler.gpu import GpuUnits, MatrixInstruction
from layoutopt.compiler.processor import VectorRegisters
from layoutopt.options import Objective
from layoutopt.profiles.target import Target, Tile, load_target
from tests.fuzz.kinds import KINDS, OFTEN
from tests.fuzz.program import Written, generate

FOLDER = Path("build/fuzz")
SMALL_TILES = {
    "f32": (Tile(2, 3, 2), Tile(4, 4, 1, mmt4d=False)),
    "f16": (Tile(2, 2, 2),),
    "bf16": (Tile(2, 2, 2, mmt4d=False),),
    "i8": (Tile(4, 2, 2),),
    "i32": (Tile(3, 2, 1),),
}
"""Tiles that small tensors are larger than; no compiler sees them."""
SMALL_UNITS = GpuUnits(
    4, 64, 4096, (MatrixInstruction("MFMA_F32_2x2x2_F32", "f32", "f32", 2, 2, 2),)
)
"""A GPU whose matrix instruction small tensors are larger than."""
SMALL_REGISTERS = VectorRegisters(bits=64, count=8)
"""Vectors that small tensors are wider than."""
TILED_EVERY = 4
GPU_EVERY = 3
BYTES_EVERY = 6
"""Graphs for a processor that multiplies unsigned bytes by signed ones."""
COUNTED_EVERY = 5
"""Graphs whose conversions are counted, so that packed contractions have tiles of registers."""
COMPUTE_UNITS = 8
"""So that forms which keep more of them busy are candidates too, on any target."""


@dataclass(frozen=True)
class Settings:
    """One run."""

    seconds: float = 60.0
    seed: int = 0
    plans: int = 2
    models: int | None = None
    """Graphs at most; None for as many as there is time for."""
    jobs: int = 2
    folder: Path = FOLDER
    open_sizes: bool = False
    """Whether sizes of the graphs that go through IREE are known at run time only."""


def graph(seed: int, number: int) -> Written:
    """Graph ``number`` of a seed."""
    return generate(random.Random(f"{seed}/{number}"), f"g{number}", KINDS, OFTEN)


def oracle_target(number: int) -> Target:
    """A target of the same properties on every machine; some graphs are packed in small tiles.

    For some it is a GPU, whose rules are others.
    """
    if number % GPU_EVERY == 1:
        return replace(load_target("mi355x"), gpu=SMALL_UNITS, measurable=True)
    target = parallel(replace(load_target("x86-64-avx512"), registers=SMALL_REGISTERS))
    if number % BYTES_EVERY == 0:
        *_, target = replace(target, byte_products=True).tilings({"i8"})
    return target if number % TILED_EVERY else replace(target, tiles=SMALL_TILES)


def oracle_objective(number: int) -> Objective:
    """What a graph is planned for."""
    return Objective.LATENCY if number % COUNTED_EVERY else Objective.CONVERSIONS


def parallel(target: Target) -> Target:
    """The target with several compute units."""
    return replace(target, machine=replace(target.machine, compute_units=COMPUTE_UNITS))
