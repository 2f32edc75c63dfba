"""Time of one dispatch: launch, then the longer of moving its bytes and computing.

    time = launch + max(memory, compute)

after Williams, Waterman, Patterson, "Roofline" (CACM 2009). Compute is counted in whole tiles;
each step of a workgroup's reduction loop costs a latency and the longer of taking its operands and
multiplying them. Compute units multiply in whole waves of workgroups; operands come from a cache
that they share, so a last wave that leaves units idle feeds the others faster. What the compiled
kernel says overrides the guess.
"""

from __future__ import annotations

import math

from layoutopt.ir.types import element_bytes
from layoutopt.pricing.analytic.kernel import Kernel
from layoutopt.pricing.analytic.work import Contraction, DispatchWork, Estimate
from layoutopt.profiles.machine import Machine, WorkgroupTile
from layoutopt.profiles.target import Target

HIDING_WAVES = 2
"""Waves per SIMD that hide a step's latency from each other; below that it shows."""
COMPILED_SURENESS = 0.75
"""Share of the uncertainty that stays once a compiled kernel has been read (assumed)."""


def estimate(work: DispatchWork, target: Target, kernel: Kernel | None = None) -> Estimate:
    """Nanoseconds of one dispatch on a target, from its work and, if given, its compiled kernel."""
    memory_ns = _memory_ns(work, target)
    compute_ns, cliff = 0.0, ""
    if work.contraction is not None:
        compute_ns, cliff = _compute_ns(work.contraction, target, kernel)
        compute_ns /= work.share
    machine = target.machine
    uncertainty = machine.uncertainty if work.known_form else machine.uncertainty_form
    if kernel is not None:
        uncertainty *= COMPILED_SURENESS
    bound = "compute" if compute_ns > memory_ns else "memory"
    if max(compute_ns, memory_ns) < target.rates.launch_ns:
        bound = "launch"
    elif bound == "compute" and cliff:
        bound = cliff
    return Estimate(target.rates.launch_ns + max(compute_ns, memory_ns), uncertainty, bound)


def _memory_ns(work: DispatchWork, target: Target) -> float:
    machine, peak = target.machine, target.rates.bandwidth_gb_s
    share = machine.stream_share if work.contraction is None else machine.read_share
    if work.contraction is None:
        share *= work.share
    if work.engine and machine.copy_large_bytes and work.size_bytes > machine.copy_large_bytes:
        share *= machine.copy_large_share
    read_ns = sum(work.reads) / (_level_gb_s(work.size_bytes, machine, peak) * share)
    written_ns = sum(work.writes) / (peak * share)
    return read_ns + written_ns + work.runs * machine.copy_run_ns


def _level_gb_s(size_bytes: int, machine: Machine, peak: float) -> float:
    """Rate of the nearest level that keeps all that a dispatch touches and as much beside it."""
    for level in machine.levels:
        if 2 * size_bytes <= level.size_bytes:
            return max(level.gb_s, peak)
    return peak


def _compute_ns(
    contraction: Contraction, target: Target, kernel: Kernel | None
) -> tuple[float, str]:
    """Nanoseconds, and the name of the cliff where there is one."""
    machine = target.machine
    if machine.matrix and not _uses_matrix(contraction, machine, kernel):
        rates = target.rates.vector_gflops or target.rates.gflops
        padded = contraction.operations * _round_up(contraction.n, 4) / contraction.n
        return padded / (_rate(rates, contraction) * machine.vector_share), "no matrix instruction"
    peak = _rate(target.rates.gflops, contraction)
    tiles, slowdown, spills_ns = machine.tiles, 1.0, 0.0
    if kernel is not None:
        tiles = (kernel.tile,) if kernel.tile is not None else tiles
        slowdown = _latency_factor(kernel, machine)
        spills_ns = kernel.vgpr_spills * machine.spill_ns
    if not tiles:
        return contraction.operations / peak, ""
    ns = min(_tiled_ns(contraction, tile, machine, peak, slowdown, spills_ns) for tile in tiles)
    return ns, "spills" if spills_ns else ""


def _uses_matrix(contraction: Contraction, machine: Machine, kernel: Kernel | None) -> bool:
    if kernel is not None:
        return kernel.matrix_instructions > 0
    return min(contraction.m, contraction.n) >= machine.smallest_matrix_dim


def _latency_factor(kernel: Kernel, machine: Machine) -> float:
    return max(1.0, HIDING_WAVES / kernel.waves_per_simd(machine))


def _tiled_ns(
    contraction: Contraction,
    tile: WorkgroupTile,
    machine: Machine,
    peak_gflops: float,
    latency_factor: float,
    spills_ns: float,
) -> float:
    """Whole tiles; a wave is one workgroup for each compute unit."""
    units = machine.compute_units
    workgroups = contraction.batch * -(-contraction.m // tile.m) * -(-contraction.n // tile.n)
    steps = -(-contraction.k // tile.k)
    wait_ns = machine.step_ns * latency_factor + spills_ns
    multiply_ns = 2 * tile.m * tile.n * tile.k / (peak_gflops / units)
    compute_ns = math.ceil(workgroups / units) * (wait_ns + multiply_ns)
    if not machine.feed_gb_s:
        return steps * compute_ns
    taken = (tile.m + tile.n) * tile.k * element_bytes(contraction.element)
    feed_ns = max(1.0, workgroups / units) * (wait_ns + taken / machine.feed_gb_s)
    return steps * max(compute_ns, feed_ns)


def _rate(rates: dict[str, float], contraction: Contraction) -> float:
    return rates.get(contraction.element, rates["f32"])


def _round_up(size: int, unit: int) -> int:
    return -(-size // unit) * unit
