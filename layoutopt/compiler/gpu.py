"""What a compiler knows of a GPU that it makes kernels for, as far as schedules follow from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MatrixInstruction:
    """One instruction by which the lanes of a subgroup multiply two small matrices together."""

    name: str
    """As the compiler has it."""
    element: str
    """Type of both factors."""
    sums: str
    m: int
    n: int
    k: int


@dataclass(frozen=True, slots=True)
class GpuUnits:
    """What one workgroup may use."""

    subgroup: int
    """Lanes that run in step."""
    most_threads: int
    memory_bytes: int
    """Memory that its threads share."""
    instructions: tuple[MatrixInstruction, ...] = ()
