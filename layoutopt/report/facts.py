"""What a report says in sentences: what its figures hold for, weights, verification."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from layoutopt.pricing.source import PriceSource
from layoutopt.report.report import Report, SizeReport
from layoutopt.runtime.sampling import WeightsFrom

_MOST = 8
"""Names in one sentence."""


@dataclass(frozen=True, slots=True)
class Fact:
    """One sentence of a report, as plain text."""

    text: str
    warns: bool = False


_PLACES = {
    WeightsFrom.CACHES.value: "in the caches, as near as they may be",
    WeightsFrom.LAST_CACHE.value: "in the last cache",
    WeightsFrom.MEMORY.value: "in memory",
}
"""Of weights, in words."""


def facts(report: Report) -> tuple[Fact, ...]:
    """The sentences that hold for a report, in the order in which they are shown."""
    return (
        *_discrepancies(report),
        *_compiler(report),
        *_scope(report),
        *_weights(report),
        *_memory(report),
        *_captured(report),
        *_verification(report),
        *_unchecked(report),
        *_not_understood(report),
    )


def _discrepancies(report: Report) -> Iterator[Fact]:
    for text in report.discrepancies:
        yield Fact(f"Discrepancy: {text}", warns=True)


def _compiler(report: Report) -> Iterator[Fact]:
    """What the compiler was taken for, and what it does not read."""
    if report.compiler_assumed:
        yield Fact(f"{report.compiler_assumed}.", warns=True)
    if report.decomposed:
        yield Fact(
            f"IREE does not import {_few(report.decomposed)} as ONNX defines them: in both "
            "modules they are decomposed into ops that it imports."
        )
    if report.restated:
        yield Fact(
            f"The model states shapes of {_few(report.restated)} that its ops contradict, and IREE "
            "does not convert it: both modules have those that follow from its ops.",
            warns=True,
        )


def _scope(report: Report) -> Iterator[Fact]:
    """What the figures of the table hold for."""
    before, after = report.before, report.after
    if before.im2col or after.im2col:
        yield Fact(
            f"Of the transposes, {before.im2col} before and {after.im2col} after are im2col copies."
        )
    if before.dispatches is None or after.dispatches is None:
        yield Fact(f"Dispatches were not counted: {report.dispatches_by}")
    else:
        yield Fact(f"Dispatches: {report.dispatches_by}")
    if report.sizes:
        sizes = ", ".join(
            dict.fromkeys(
                f"{_named(s)} = {' and '.join(map(str, s.planned))} ({_range(s)})"
                for s in report.sizes
            )
        )
        yield Fact(f"Priced and timed at {sizes}; --dim chooses other sizes.")
    yield from _specializations(report)
    yield from _trips(report)
    for is_state, told in ((False, "Control flow hands on"), (True, "State lies in memory as")):
        rows = [c for c in report.carried if c.name.startswith("@") == is_state]
        if rows:
            named = [f"{c.name} ({c.tensor}) in {c.layout}" for c in rows]
            yield Fact(f"{told} {_few(named)}.")
    yield from _when(report)
    if report.cost_source is PriceSource.COMPILED and report.ops.planned:
        yield Fact(
            "Prices are estimates from the kernels that IREE compiles for the target, corrected by "
            "what was measured elsewhere: no candidate was measured here.",
            warns=True,
        )
    if report.cost_source is PriceSource.ANALYTIC and report.ops.planned:
        yield Fact(
            "Prices are estimates from the target's data sheet, corrected by what was measured "
            "elsewhere: no candidate was compiled or measured here.",
            warns=True,
        )
    if report.weights_from:
        yield Fact(f"Candidates were measured with their weights {_PLACES[report.weights_from]}.")
    if report.cost_source is PriceSource.PLAN:
        yield Fact("Prices are those recorded in the plan that was given.")
    if report.ops.barriers and (before.predicted_ms is not None or after.predicted_ms is not None):
        yield Fact(
            f"Predicted times are those of {report.ops.planned} of "
            f"{report.ops.planned + report.ops.barriers} ops; barriers have no price."
        )


def _specializations(report: Report) -> Iterator[Fact]:
    """Which functions have several plans, for which sizes."""
    names = dict.fromkeys(row.function for row in report.specializations)
    for name in names:
        ranges = [row.ranges for row in report.specializations if row.function == name]
        yield Fact(
            f"{name} has {len(ranges)} plans, chosen at run time: for {'; for '.join(ranges)}."
        )


def _when(report: Report) -> Iterator[Fact]:
    """When the modules ran, and what is newer than it might be."""
    if report.measured_on is not None:
        yield Fact(f"Run on {report.measured_on}, memory kept from call to call")
    if report.lost_before:
        yield Fact(
            f"The plan of earlier prices lost (it took {report.lost_before}), so they were "
            "measured again and the plan was made anew."
        )


def _trips(report: Report) -> Iterator[Fact]:
    """How often blocks of control flow are taken to run."""
    often = [f"{block.name} {block.runs} times" for block in report.blocks if block.runs != 1]
    if often:
        yield Fact(f"In predicted times, {_few(often)} a call.")
    written_out = [f"{name} ({steps} steps)" for name, steps in report.written_out.items()]
    if written_out:
        yield Fact(
            "Loops that were written out before they were planned, for each of their steps reads "
            f"weights of its own: {_few(written_out)}."
        )
    ahead = [f"{block.ahead} of {block.name}" for block in report.blocks if block.ahead]
    if ahead:
        yield Fact(
            "Contractions computed ahead of their loop, once for all its steps (in the time "
            f"predicted for the model as it came, too): {_few(ahead)}."
        )
    unrolled = [f"{b.steps_a_trip} steps of {b.name}" for b in report.blocks if b.steps_a_trip > 1]
    if unrolled:
        yield Fact(f"Unrolled: {_few(unrolled)} are one trip.")
    unknown = list(dict.fromkeys(name for block in report.blocks for name in block.uncounted))
    if unknown:
        yield Fact(
            f"Not known is how often {_few(unknown)} runs: predicted times count one run; "
            "--trip-count says how many."
        )


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return ", ".join(names[:_MOST]) + more


def _named(size: SizeReport) -> str:
    """A size, and the dims of arguments that the model gives its name."""
    return f"{size.name} ({_few(size.dims)})" if size.dims else size.name


def _range(size: SizeReport) -> str:
    return f"{size.low} or more" if size.high is None else f"{size.low} to {size.high}"


def _unchecked(report: Report) -> Iterator[Fact]:
    for reason, names in _by_reason((row.op, row.reason) for row in report.unchecked):
        yield Fact(f"Of prices: {names}: {reason}", warns=True)


def _not_understood(report: Report) -> Iterator[Fact]:
    """Kernels whose code was not understood."""
    rows = ((row.name, row.reason) for row in report.kernels if row.reason)
    for reason, names in _by_reason(rows):
        yield Fact(
            f"Kernels that were not understood, estimated from below: {names}: {reason}",
            warns=True,
        )


def _weights(report: Report) -> Iterator[Fact]:
    w = report.weights
    if w is None or (not w.copies and w.budget_bytes is None):
        return
    bound = "" if w.budget_bytes is None else f", of {_mib(w.budget_bytes)} allowed"
    yield Fact(
        f"Weights: {_mib(w.size_bytes)}; {w.copies} copies in other layouts take "
        f"{_mib(w.copied_bytes)}{bound}"
    )


def _memory(report: Report) -> Iterator[Fact]:
    m = report.memory
    if m is None:
        return
    if m.after_bytes is None:
        yield Fact(f"Memory of a call: {_size(m.planned_bytes)} planned; {m.counted_by}")
        return
    bound = "" if m.budget_bytes is None else f", of {_size(m.budget_bytes)} allowed"
    before = "" if m.before_bytes is None else f"{_size(m.before_bytes)} before, "
    yield Fact(
        f"Memory of a call, weights and arguments aside: {before}{_size(m.after_bytes)} after"
        f"{bound}, counted {m.counted_by}; {_size(m.planned_bytes)} planned"
    )


def _captured(report: Report) -> Iterator[Fact]:
    c = report.captured
    if c is not None:
        yield Fact(
            f"Constants captured read-write: {c.readwrite_before} before, {c.readwrite_after} "
            f"after; copies of constants in one run: {c.copies_before} "
            f"({_mib(c.copied_bytes_before)}) before, {c.copies_after} "
            f"({_mib(c.copied_bytes_after)}) after"
        )


def _verification(report: Report) -> Iterator[Fact]:
    v = report.verification
    if v is None:
        return
    if v.compared:
        verdict = "passed" if v.passed else "failed"
        place = f", {v.place}" if v.place else ""
        inputs = f"; inputs: {', '.join(v.inputs)}" if v.inputs else ""
        yield Fact(
            f"Verification {verdict} against {v.reference}{place}: largest relative error "
            f"{v.max_rel_error:.2g} (allowed {v.tolerance:g}){inputs}"
        )
    if v.tipped:
        yield Fact(
            f"{v.tipped} integers of results are off by one: floats close to the middle between "
            "two of them were rounded the other way."
        )
    if v.reference_reason:
        yield Fact(f"Not against IREE on the original: {v.reference_reason}", warns=True)
    for reason, names in _by_reason(v.weak):
        yield Fact(f"That says little of {names}: {reason}.", warns=True)
    for reason, names in _by_reason(v.skipped):
        yield Fact(f"Not compared on inputs of the kind {names}: {reason}")
    for reason, names in _by_reason(v.unverified):
        yield Fact(f"Not run, so not verified: {names}; {reason}.", warns=True)


def _by_reason(rows: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Each reason once, with the names that it holds for."""
    names: dict[str, dict[str, None]] = {}
    for name, reason in rows:
        names.setdefault(reason, {})[name] = None
    for reason, found in names.items():
        more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
        yield reason, ", ".join(list(found)[:_MOST]) + more


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:.1f} MiB"


def _size(size_bytes: int) -> str:
    """In MiB, or in KiB where that is little."""
    return _mib(size_bytes) if size_bytes >= 2**20 else f"{size_bytes / 2**10:.1f} KiB"
