"""Time of a dispatch that was not compiled: launch, then the longer of moving and computing.

    time = launch + max(bytes / bandwidth, operations / peak)

after Williams, Waterman, Patterson, "Roofline" (CACM 2009). How an op is spelled does not count,
except on processors whose target gives shares by form.
"""

from __future__ import annotations

from layoutopt.pricing.analytic.work import DispatchWork, Estimate
from layoutopt.profiles.machine import Machine
from layoutopt.profiles.target import Target


def estimate(work: DispatchWork, target: Target) -> Estimate:
    """Nanoseconds of one dispatch on a target, from its work."""
    memory_ns = _memory_ns(work, target)
    compute_ns = 0.0
    if work.contraction is not None:
        rates = target.rates.gflops
        peak = rates.get(work.contraction.element, rates["f32"]) * target.machine.peak_share
        compute_ns = work.contraction.operations / (peak * work.share)
    machine = target.machine
    uncertainty = machine.uncertainty if work.known_form else machine.uncertainty_form
    bound = "compute" if compute_ns > memory_ns else "memory"
    if max(compute_ns, memory_ns) < target.rates.launch_ns:
        bound = "launch"
    return Estimate(target.rates.launch_ns + max(compute_ns, memory_ns), uncertainty, bound)


def _memory_ns(work: DispatchWork, target: Target) -> float:
    machine, peak = target.machine, target.rates.bandwidth_gb_s
    share = machine.peak_share if work.contraction is not None else machine.peak_share * work.share
    read_ns = sum(work.reads) / (_level_gb_s(work.size_bytes, machine, peak) * share)
    written_ns = sum(work.writes) / (peak * share)
    return read_ns + written_ns


def _level_gb_s(size_bytes: int, machine: Machine, peak: float) -> float:
    """Rate of the nearest level that keeps all that a dispatch touches and as much beside it."""
    for level in machine.levels:
        if 2 * size_bytes <= level.size_bytes:
            return max(level.gb_s, peak)
    return peak
