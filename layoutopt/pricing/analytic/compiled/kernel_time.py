"""How long a compiled kernel takes: nothing counts but its facts and the machine.

Of a workgroup, one round of a loop takes as long as it computes or as it waits for memory, the
longer of both, and what stands behind them. Workgroups of one compute unit fill the gaps of each
other as far as its units allow. All together take no less than the caches and the memory need to
move their lines:

    time = norm(compute units, L2, last cache, memory),  norm(a, b) = (a^p + b^p)^(1/p)

A norm lies between the larger one (p large) and the sum (p = 1): how well two things overlap.
After Hong and Kim, "An analytical model for a GPU architecture" (ISCA 2009), and Williams et al.,
"Roofline" (CACM 2009).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from layoutopt.pricing.analytic.compiled.kernel_facts import Body, KernelFacts
from layoutopt.pricing.analytic.compiled.memory_lines import LINE_BYTES, Lines
from layoutopt.pricing.analytic.compiled.read_module import Step
from layoutopt.profiles.kernel_rates import KernelRates
from layoutopt.profiles.machine import Machine

VGPR_GRANULE = 8
"""Registers are given to waves in blocks: LLVM AMDGPU user guide, gfx90a and later."""
LDS_BYTES_A_CYCLE = 128
FIRST_CACHE_BYTES = 32768
"""Of a compute unit: AMD CDNA 3 white paper."""
L2_BYTES_A_UNIT = 131072
"""4 MiB for the 32 compute units of a chiplet: AMD CDNA 3 and CDNA 4 white papers."""
COMPUTE = "compute units"
"""What bounds a kernel that waits for no cache or memory that all share."""
MOST_WORKGROUPS = 32
"""That one compute unit holds at once."""


@dataclass(frozen=True, slots=True)
class KernelTime:
    """Nanoseconds without the launch, and what takes the most of them."""

    ns: float
    bound: str


def kernel_time(facts: KernelFacts, machine: Machine, rates: KernelRates) -> KernelTime:
    """The time of one run of a kernel."""
    together = workgroups_together(facts, machine)
    full, rest = divmod(facts.workgroups, machine.compute_units * together)
    cycles = full * _cycles(facts, together, machine, rates)
    if rest:
        cycles += _cycles(facts, math.ceil(rest / machine.compute_units), machine, rates)
    held = min(together, math.ceil(facts.workgroups / machine.compute_units))
    l2_bytes, cache_bytes = _traffic(facts, held)
    parts = {
        COMPUTE: cycles / rates.clock_ghz,
        "L2": l2_bytes / rates.l2_gb_s,
        "last cache": cache_bytes / rates.cache_gb_s,
        "memory": _missed(facts.touched_bytes, cache_bytes, machine) / rates.memory_gb_s,
    }
    bound = max(parts, key=parts.__getitem__)
    return KernelTime(_norm(rates.sharing, *parts.values()), bound)


def step_time(step: Step, machine: Machine, rates: KernelRates) -> KernelTime:
    """The time of a kernel or transfer; a kernel that was not understood also moves its bytes."""
    moved = KernelTime(step.transfer_bytes / rates.copy_gb_s, "transfer")
    if step.kernel is None:
        return moved
    return max(kernel_time(step.kernel, machine, rates), moved, key=lambda time: time.ns)


def workgroups_together(facts: KernelFacts, machine: Machine) -> int:
    """Workgroups that one compute unit holds: as far as registers, LDS and wave slots go."""
    waves_a_simd = machine.most_waves
    if machine.vgprs and facts.vgprs:
        granted = -(-facts.vgprs // VGPR_GRANULE) * VGPR_GRANULE
        waves_a_simd = min(waves_a_simd, machine.vgprs // granted)
    found = min(MOST_WORKGROUPS, waves_a_simd * machine.simds // facts.waves)
    if machine.lds_bytes and facts.lds_bytes:
        found = min(found, machine.lds_bytes // facts.lds_bytes)
    return max(1, found)


def _cycles(facts: KernelFacts, together: int, machine: Machine, rates: KernelRates) -> float:
    """Of one compute unit that runs so many workgroups side by side."""
    return rates.workgroup + sum(
        body.rounds * _round(body, facts, together, machine, rates)
        for body in facts.bodies
        if body.rounds
    )


def _round(
    body: Body, facts: KernelFacts, together: int, machine: Machine, rates: KernelRates
) -> float:
    """Cycles of one round of a body, in all workgroups that run side by side."""
    counts = body.counts
    waves = math.ceil(facts.waves / machine.simds)
    matrix = counts.matrix_cycles * waves * rates.matrix
    vector = (counts.vector_cycles + counts.idle) * waves * rates.vector
    scalar = 4 * counts.scalar * waves * rates.scalar
    written = counts.lds_write_bytes * facts.workgroup_size / LDS_BYTES_A_CYCLE
    stored = written * rates.lds
    read = max(0.0, body.lds_cycles - written) * rates.lds
    if counts.loads and counts.lds_reads and not counts.lds_writes:  # loads go to LDS directly
        read += body.reads.bytes / LDS_BYTES_A_CYCLE * rates.lds
    loads = (_wide(body.reads, counts.loads) + _scratch_lines(body, facts)) * rates.line
    stores = _wide(body.writes, counts.stores) * rates.line
    arrives = (rates.load if loads or counts.loads else 0.0) + together * loads
    latency = _norm(rates.hiding, arrives, matrix + vector + scalar + read) + stored
    latency += rates.barrier * counts.barriers + (rates.store if counts.stores else 0.0)
    simd = math.ceil(together * facts.waves / machine.simds) / waves
    busiest = max(
        simd * matrix, simd * vector, simd * scalar,
        together * (read + stored), together * (loads + stores),
    )  # fmt: skip
    return _norm(rates.overlap, latency, busiest)


def _scratch_lines(body: Body, facts: KernelFacts) -> float:
    """Lines of a workgroup in one round; the words of the lanes of a wave lie side by side."""
    return body.counts.scratch_bytes * facts.wave_size * facts.waves / LINE_BYTES


def _wide(lines: Lines, instructions: int) -> float:
    """Lines of each instruction, where the assembly has fewer and wider ones than the IR."""
    if not lines.instructions or not instructions:
        return lines.wave
    return lines.wave * min(1.0, instructions / lines.instructions)


def _traffic(facts: KernelFacts, together: int) -> tuple[float, float]:
    """Bytes that all workgroups take from the L2 caches, and these from the cache behind them."""
    near = far = written = 0.0
    held = together * facts.scratch_bytes * facts.wave_size * facts.waves
    for body in facts.bodies:
        scratch = body.rounds * _scratch_lines(body, facts) if held > FIRST_CACHE_BYTES else 0.0
        near += scratch
        far += scratch if held > L2_BYTES_A_UNIT else 0.0
        reads = body.reads
        fits = together * reads.group * LINE_BYTES <= FIRST_CACHE_BYTES
        near += reads.group * _runs(body.rounds, reads.fresh if fits else 1.0)
        far += reads.shared * _runs(body.rounds, reads.shared_fresh)
        written += body.rounds * body.writes.group
    scale = LINE_BYTES * facts.workgroups
    return (near + written) * scale, (far + written) * scale


def _runs(rounds: float, fresh: float) -> float:
    """Rounds, those behind the first by their share of lines that are new."""
    return rounds if rounds < 1 else 1 + (rounds - 1) * fresh


def _missed(touched: int, taken_bytes: float, machine: Machine) -> float:
    """Bytes that come from or go to memory.

    None where the last cache keeps all that a kernel touches and as much beside it; else all once,
    and again what it takes more than once and is not kept.
    """
    kept = max((level.size_bytes for level in machine.levels), default=0)
    if 2 * touched <= kept:
        return 0.0
    again = max(0.0, taken_bytes - touched)
    return touched + again * max(0.0, 1 - kept / touched)


def _norm(power: float, *parts: float) -> float:
    longest = max(parts)
    if not longest:
        return 0.0
    return float(longest * sum((part / longest) ** power for part in parts) ** (1 / power))
