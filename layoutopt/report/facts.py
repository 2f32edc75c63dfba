"""What a report says in sentences: weights, captured constants, verification."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from layoutopt.report.report import Report


@dataclass(frozen=True, slots=True)
class Fact:
    """One sentence of a report, as plain text."""

    text: str
    warns: bool = False


def facts(report: Report) -> tuple[Fact, ...]:
    """The sentences that hold for a report, in the order in which they are shown."""
    return (*_weights(report), *_captured(report), *_verification(report))


def _weights(report: Report) -> Iterator[Fact]:
    w = report.weights
    if w is None or (not w.copies and w.budget_bytes is None):
        return
    bound = "" if w.budget_bytes is None else f", of {_mib(w.budget_bytes)} allowed"
    yield Fact(
        f"Weights: {_mib(w.size_bytes)}; {w.copies} copies in other layouts take "
        f"{_mib(w.copied_bytes)}{bound}"
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
    verdict = "passed" if v.passed else "failed"
    yield Fact(
        f"Verification {verdict}: largest relative error {v.max_rel_error:.2g} "
        f"(allowed {v.tolerance:g})"
    )
    if v.unresponsive:
        yield Fact(
            f"That says little of {', '.join(v.unresponsive)}: its results were the same for all "
            "inputs tried (a saturated softmax?).",
            warns=True,
        )
    if v.unverified:
        yield Fact(
            f"Not run, so not verified: {', '.join(v.unverified)}; an argument is no tensor of "
            "static shape.",
            warns=True,
        )


def _mib(size_bytes: int) -> str:
    return f"{size_bytes / 2**20:.1f} MiB"
