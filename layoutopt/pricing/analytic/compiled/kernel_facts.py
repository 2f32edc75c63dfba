"""What a compiled kernel does, in numbers: all that its price depends on.

From the assembly: registers, and instructions in each loop. From the optimized LLVM IR, run for
some workgroups: how often each loop runs, and which cache lines its lanes touch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from layoutopt.pricing.analytic.compiled.assembly import Assembly, Counts
from layoutopt.pricing.analytic.compiled.launch import Call, Geometry
from layoutopt.pricing.analytic.compiled.llvm_ir import Function, UnreadableError
from layoutopt.pricing.analytic.compiled.memory_lines import (
    Lines,
    lines_of,
    shared_memory_cycles,
)
from layoutopt.pricing.analytic.compiled.trace import Access, trace

CHIPLETS = 8
"""Workgroups go to the chiplets (XCDs) of an MI300 or MI350 in turn: AMD CDNA 3 white paper."""
NEIGHBOURS = 16
"""Workgroups of one chiplet that are looked at."""


@dataclass(frozen=True, slots=True)
class Body:
    """A loop without the loops inside it, or what stands outside of all loops."""

    rounds: float
    """How often a wave runs it."""
    counts: Counts
    """Of one round."""
    reads: Lines
    writes: Lines
    lds_cycles: float
    """Of a workgroup in one round."""


@dataclass(frozen=True, slots=True)
class KernelFacts:
    """One kernel at one number of workgroups."""

    workgroups: int
    workgroup_size: int
    wave_size: int
    vgprs: int
    spills: int
    lds_bytes: int
    bodies: tuple[Body, ...]
    touched_bytes: int
    """Of the tensors that it loads and stores."""
    scratch_bytes: int = 0
    """Memory of its own that each lane has."""

    @property
    def has_matrix(self) -> bool:
        """Whether it has matrix instructions."""
        return any(body.counts.matrix for body in self.bodies)

    @property
    def waves(self) -> int:
        """Of one workgroup."""
        return -(-self.workgroup_size // self.wave_size)


def read_facts(
    assembly: Assembly, function: Function, shared: dict[str, int], call: Call,
    touched_bytes: int,
) -> KernelFacts:  # fmt: skip
    """Facts of a kernel. Raises UnreadableError, with the reason, where it is not understood."""
    if assembly.unknown:
        raise UnreadableError(f"an instruction without a known time: {assembly.unknown[0]}")
    geometry = Geometry(_neighbours(call.grid), assembly.workgroup_size, assembly.wave_size)
    traced = trace(function, shared, geometry, call)
    if traced.depths != assembly.depths:
        raise UnreadableError("loops of the assembly that are not those of its IR")
    bodies = tuple(
        _body(counts, rounds, [a for a in traced.accesses if a.loop == number], geometry)
        for number, (counts, rounds) in enumerate(zip(assembly.bodies, traced.trips, strict=True))
    )
    return _facts(assembly, call, bodies, touched_bytes)


def least_facts(assembly: Assembly, call: Call, touched_bytes: int) -> KernelFacts:
    """What the assembly alone shows of a kernel: each loop runs once, and nothing is read twice."""
    none = Lines()
    bodies = tuple(Body(1.0, counts, none, none, 0.0) for counts in assembly.bodies)
    return _facts(assembly, call, bodies, touched_bytes)


def _facts(
    assembly: Assembly, call: Call, bodies: tuple[Body, ...], touched_bytes: int
) -> KernelFacts:
    return KernelFacts(
        prod(call.grid),
        prod(assembly.workgroup_size),
        assembly.wave_size,
        assembly.vgprs,
        assembly.spills,
        assembly.lds_bytes,
        bodies,
        touched_bytes,
        assembly.scratch_bytes,
    )


def _neighbours(grid: Sequence[int]) -> tuple[tuple[int, int, int], ...]:
    """Ids of workgroups that run at the same time on the first chiplet."""
    x, y, _ = grid
    ids = range(0, prod(grid), CHIPLETS)[:NEIGHBOURS]
    return tuple((i % x, i // x % y, i // (x * y)) for i in ids)


def _body(counts: Counts, rounds: float, accesses: Sequence[Access], geometry: Geometry) -> Body:
    def touched(space: str, writes: bool | None = None) -> list[Access]:
        return [a for a in accesses if a.space == space and writes in (None, a.writes)]

    size = geometry.wave_size
    return Body(
        rounds,
        counts,
        lines_of(touched("global", False), size, rounds),
        lines_of(touched("global", True), size, rounds),
        shared_memory_cycles(touched("lds"), size, rounds),
    )
