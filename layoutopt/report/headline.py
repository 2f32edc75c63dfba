"""The first line: what came of the run, and what is not known of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from layoutopt.report.report import RefusalReport, Report
from layoutopt.report.units import milliseconds
from layoutopt.verification.verified import ON_CPU

PLANNED, UNCHANGED = "layoutopt", "unchanged"
"""What may have been written besides the original with one of IREE's flag sets."""


def headline(report: Report) -> str:
    """One line about the module that was written."""
    told = (_gain(report), *_unknown(report))
    return f"{report.model} on {report.profile}: {'; '.join(told)}"


def _is_computed_wrong(report: Report) -> bool:
    """Whether the device computes something else of the original than this machine's CPU."""
    return report.verification is not None and report.verification.reference == ON_CPU


def _gain(report: Report) -> str:
    if report.winner == UNCHANGED:
        return _unchanged(report)
    after = report.after.measured_ms
    if after is None:
        if report.kept_for:
            return f"the original is kept, compiled with '{report.winner}'{_lost(report)}"
        return _predicted(report)
    text = f"{_ms(report.before.measured_ms)} ms -> {milliseconds(after)} ms"
    if report.winner != PLANNED:
        return f"{text}: the original is kept, compiled with '{report.winner}'{_lost(report)}"
    compared = [_ratio(report.before.measured_ms, after, "IREE's default")]
    if sum(f.name != PLANNED for f in report.flag_sets) > 1:
        compared.append(_ratio(best_original_ms(report), after, "its best flags"))
    told = ", ".join(text for text in compared if text)
    if not told:
        how = "rightly with none" if _is_computed_wrong(report) else "with none"
        return f"{milliseconds(after)} ms, where IREE runs the original {how} of its flag sets"
    return f"{text}: {told}"


def best_original_ms(report: Report) -> float | None:
    """The fastest of IREE's own flag sets on the original."""
    times = [f.measured_ms for f in report.flag_sets if f.name != PLANNED]
    return min((ms for ms in times if ms is not None), default=None)


def _ratio(other: float | None, mine: float, name: str) -> str:
    if not other or not mine:
        return ""
    if other >= mine:
        return f"{other / mine:.2f}x faster than {name}"
    return f"{mine / other:.2f}x slower than {name}"


def _lost(report: Report) -> str:
    """What became of the plan that was not written."""
    if report.kept_for:
        return f", for {report.kept_for}"
    mine = next((f for f in report.flag_sets if f.name == PLANNED), None)
    if mine is None:
        return ""
    if mine.measured_ms is None:
        return f", for the plan was not timed ({mine.reason})"
    return f", for the plan took {milliseconds(mine.measured_ms)} ms"


def _predicted(report: Report) -> str:
    before, after = report.before, report.after
    text = f"planned {report.ops.planned} of {report.ops.planned + report.ops.barriers} ops"
    if not report.cost_source.is_estimate:
        return text
    if not after.predicted_ms:
        return text
    new = f"{milliseconds(after.predicted_ms)} ms{_range(after.predicted_range_ms, ' ms')}"
    if report.original_refused:
        return (
            f"IREE does not compile it as it came ({report.original_refused}); the plan is "
            f"predicted to take {new}, estimated and not measured"
        )
    if not before.predicted_ms:
        return text
    old = f"{milliseconds(before.predicted_ms)} ms{_range(before.predicted_range_ms, ' ms')}"
    ratio = before.predicted_ms / after.predicted_ms
    faster = f"{ratio:.2f}x{_range(report.predicted_speedup_range, 'x')}"
    return f"predicted {old} -> {new}: {faster}{_noise(report)}, estimated and not measured"


def _noise(report: Report) -> str:
    """What a range says that has no gain on one side."""
    ends = report.predicted_speedup_range
    within = ends is not None and ends[0] <= 1 <= ends[1]
    return ", within the noise of the estimate" if within else ""


def _range(ends: tuple[float, float] | None, unit: str) -> str:
    if ends is None:
        return ""
    texts = [f"{end:.2f}" if unit == "x" else milliseconds(end) for end in ends]
    return f" ({' to '.join(texts)}{unit})"


def _unchanged(report: Report) -> str:
    ops = report.ops
    barriers = f"{ops.barriers} of {ops.planned + ops.barriers} ops are barriers"
    why = _reason(report.barriers)
    if not ops.planned:
        return f"nothing planned: {barriers} ({why})" if ops.barriers else "nothing to plan"
    text = f"unchanged: the {ops.planned} ops that a plan could change stay as they came"
    if ops.planned == 1:
        text = "unchanged: the one op that a plan could change stays as it came"
    if ops.barriers:
        text += f"; {barriers} ({why})"
    if report.after.measured_ms is not None:
        text += f"; measured {milliseconds(report.after.measured_ms)} ms"
    return text


def _reason(barriers: Sequence[RefusalReport]) -> str:
    """The most frequent one."""
    if not barriers:
        return ""
    ((reason, _),) = Counter(row.reason for row in barriers).most_common(1)
    few = len({row.reason for row in barriers}) == 1
    return reason if few else f"most often: {reason}"


def _unknown(report: Report) -> Iterator[str]:
    """What was not established about the module that was written, if a plan made it."""
    if report.winner not in (PLANNED, UNCHANGED) or not report.ops.planned:
        return
    missing = _not_verified(report)
    if missing and missing == report.not_timed:
        yield f"NOT VERIFIED, not timed: {missing}"
        return
    if missing:
        yield f"NOT VERIFIED: {missing}"
    if report.verification is not None and not report.verification.passed:
        yield "VERIFICATION FAILED"
    if report.not_timed:
        yield f"not timed: {report.not_timed}"


def _not_verified(report: Report) -> str:
    """Why not all of the functions were compared; empty where all were."""
    v = report.verification
    if v is None:
        return report.not_verified
    reasons = "; ".join(dict.fromkeys(reason for _, reason in v.unverified))
    if not v.compared:
        return reasons or report.not_verified
    return f"{', '.join(name for name, _ in v.unverified)} ({reasons})" if v.unverified else ""


def _ms(value: float | None) -> str:
    return "-" if value is None else milliseconds(value)
