"""What a report says of memory, and of plans that have less of something."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class MemoryReport:
    """Memory of one call, weights and arguments aside, results included."""

    before_bytes: int | None
    """Counted, of the original with the flags that it was first compiled with; None where nothing
    counts it."""
    after_bytes: int | None
    """The same of the module that was written."""
    planned_bytes: int
    """What the tensors of the plan take, laid out without a gap and run one after another."""
    budget_bytes: int | None
    """The bound on ``after_bytes``; None where there is none, and for a share of what is not
    known."""
    counted_by: str
    """How, or why it was not."""


@dataclass(frozen=True, slots=True)
class TradeOffReport:
    """The cheapest plan with less of something: what it has of it, and its predicted time."""

    function: str
    resource: str
    """``memory`` or ``weights``, as ``--trade-off`` names it."""
    budget_bytes: int | None
    """None for the plan of this run."""
    size_bytes: int | None
    """What tensors take while it runs, or what copies of weights take, planned; None where no plan
    was found in time."""
    predicted_ms: float | None
    gap: float | None
    """How far from the cheapest it may be, relative to it."""
