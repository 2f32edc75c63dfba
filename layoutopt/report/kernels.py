"""The kernels of both modules as they were compiled: what explains a predicted gain."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

from layoutopt.pricing.analytic.compiled.kernel_facts import KernelFacts
from layoutopt.pricing.analytic.compiled.kernel_time import workgroups_together
from layoutopt.pricing.analytic.compiled.read_module import Step
from layoutopt.pricing.analytic.compiled_kernels import Facts
from layoutopt.pricing.analytic.estimate import estimate_steps
from layoutopt.profiles.target import Target
from layoutopt.verification.written_module import CompiledModules


@dataclass(frozen=True, slots=True)
class KernelReport:
    """One kernel or transfer, and how often it runs in one call."""

    side: str
    """``before`` or ``after``."""
    name: str
    runs: int
    ns: float
    """Of one run."""
    low_ns: float
    high_ns: float
    bound: str
    """What takes most of its time."""
    reason: str = ""
    """Why its code was not understood; it then takes at least as long as is said here."""
    workgroups: int = 0
    workgroup_size: int = 0
    together: int = 0
    """Workgroups that one compute unit holds at once."""
    vgprs: int = 0
    spills: int = 0
    lds_bytes: int = 0
    matrix_cycles: float = 0.0
    """Of one wave, as the next one."""
    vector_cycles: float = 0.0
    lds_cycles: float = 0.0
    """Of one workgroup, as the next one."""
    read_lines: float = 0.0
    """Cache lines that its instructions ask for."""


def kernel_reports(
    compiled: CompiledModules | None, target: Target
) -> tuple[KernelReport, ...]:  # fmt: skip
    """The kernels of both modules, the costliest of each side first."""
    if compiled is None:
        return ()
    sides = {"before": compiled.before, "after": compiled.after}
    return tuple(row for side, facts in sides.items() for row in _side(side, facts, target))


def _side(side: str, facts: Facts, target: Target) -> list[KernelReport]:
    counts: Counter[object] = Counter(map(_key, facts.steps))
    first = {_key(step): step for step in reversed(facts.steps)}
    rows = [_row(side, step, counts[key], target) for key, step in first.items()]
    return sorted(rows, key=lambda row: (-row.runs * row.ns, row.name))


def _key(step: Step) -> object:
    """What tells steps apart: one kernel may stand in several dispatches."""
    return step.kernel or (step.name, step.transfer_bytes, step.reason)


def _row(side: str, step: Step, runs: int, target: Target) -> KernelReport:
    made = estimate_steps((step,), target)
    row = KernelReport(
        side, step.name, runs, made.ns, made.low_ns, made.high_ns, made.bound, step.reason
    )
    return row if step.kernel is None else _with_facts(row, step.kernel, target)


def _with_facts(row: KernelReport, kernel: KernelFacts, target: Target) -> KernelReport:
    bodies = kernel.bodies
    return replace(
        row,
        workgroups=kernel.workgroups,
        workgroup_size=kernel.workgroup_size,
        together=workgroups_together(kernel, target.machine),
        vgprs=kernel.vgprs,
        spills=kernel.spills,
        lds_bytes=kernel.lds_bytes,
        matrix_cycles=sum(body.rounds * body.counts.matrix_cycles for body in bodies),
        vector_cycles=sum(body.rounds * body.counts.vector_cycles for body in bodies),
        lds_cycles=sum(body.rounds * body.lds_cycles for body in bodies),
        read_lines=sum(body.rounds * body.reads.wave for body in bodies),
    )
