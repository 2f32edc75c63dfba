"""What a choice has to do, and how long that takes at the peak rates of the target.

    roof = max(operations / peak rate of their type, bytes / rate of the memory)

for each dispatch, after Williams, Waterman, Patterson, "Roofline" (CACM 2009); bytes are those of
the tensors that it reads and writes, each once. Tensors that a cache holds move faster than that.
The memory of this machine and its multiply-adds are timed; all other rates are the target's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from layoutopt.candidates.candidate import Candidate, physical_form
from layoutopt.ir.refusal import Refusal
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.pricing.analytic.form import all_work
from layoutopt.pricing.analytic.work import DispatchWork
from layoutopt.profiles.host import caches_of_this_machine
from layoutopt.profiles.target import Rates, Target
from layoutopt.runtime.compute_rate import compute_gflops
from layoutopt.runtime.memory_rate import memory_gb_s
from layoutopt.runtime.setting import RunSetting


@dataclass(frozen=True, slots=True)
class Roof:
    """The work of a choice, all dispatches together."""

    operations: int
    """Multiplications and additions of its contractions."""
    size_bytes: int
    """Of what it reads and writes."""
    least_ns: float
    """At the peak rates."""


def peak_rates(target: Target, threads: int) -> Rates:
    """The rates of a target; where it is this machine's processor, as they are now.

    Of types other than f32, what the target says of them in relation to f32.
    """
    if not target.measurable or not target.device.startswith("local"):
        return target.rates
    rates = target.rates
    read = memory_gb_s(threads, 2 * caches_of_this_machine().last_bytes)
    timed = compute_gflops(target.flags, RunSetting(target.device, threads))
    over = 1.0 if timed is None else timed / rates.gflops["f32"]
    gflops = {element: round(rate * over, 1) for element, rate in rates.gflops.items()}
    return replace(rates, gflops=gflops, bandwidth_gb_s=round(read, 1))


def roof_of(plan: GraphPlan, chosen: Candidate, target: Target, rates: Rates) -> Roof | None:
    """The roof of a choice; None where it is priced at several sizes, or nothing runs."""
    price = plan.prices.get(chosen)
    if price is not None and len(price.by_size_ns) > 1:
        return None
    form = physical_form(plan.egraph.graph, plan.clusters[chosen.cluster], chosen)
    work = () if isinstance(form, Refusal) else all_work(form, target)
    return roof(work, rates) if work else None


def roof(work: Sequence[DispatchWork], rates: Rates) -> Roof:
    """The roof of some dispatches, one behind the other."""
    least_ns = 0.0
    for part in work:
        moving, computing = part.size_bytes / rates.bandwidth_gb_s, 0.0
        if part.contraction is not None:
            peak = rates.gflops.get(part.contraction.element, rates.gflops["f32"])
            computing = part.contraction.operations / peak
        least_ns += max(moving, computing)
    operations = sum(part.contraction.operations for part in work if part.contraction is not None)
    return Roof(operations, sum(part.size_bytes for part in work), least_ns)
