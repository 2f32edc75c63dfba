"""Predicted against measured: each dispatch inside the whole module, and the module."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from layoutopt.candidates.candidate import Candidate, physical_form
from layoutopt.candidates.choice import is_free
from layoutopt.candidates.conversion import Conversion
from layoutopt.candidates.made_once import made_before
from layoutopt.ir.graph import Op, Structured
from layoutopt.ir.layout import ConversionKind, conversion_kind
from layoutopt.ir.refusal import Refusal
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.pricing.analytic.form import dispatches
from layoutopt.verification.dispatch_names import (
    OPEN,
    closed,
    kernel_name,
    loops_of,
    named_loops,
    same_loops,
)


@dataclass(frozen=True, slots=True)
class DispatchValidation:
    """One dispatch; a side that is missing was not expected, or not found."""

    op: str
    """What the plan meant it to be; empty for a dispatch that no cluster stands for."""
    dispatch: str
    """IREE's name for it (of several that one choice has, the first one's); empty for a cluster
    that IREE put elsewhere."""
    predicted_ns: int | None
    measured_ns: int | None
    further: tuple[str, ...] = ()
    """IREE's names for the others that the choice has: a concat is one copy for each part."""
    absent: int = 0
    """How many the choice has compiled alone that are not in the module."""

    @property
    def names(self) -> tuple[str, ...]:
        """IREE's names for all of them."""
        return (self.dispatch, *self.further) if self.dispatch else ()


@dataclass(frozen=True, slots=True)
class Validation:
    """All dispatches of the optimized module in the plan's order, and what the sums say."""

    dispatches: tuple[DispatchValidation, ...]
    predicted_ms: float
    dispatched_ms: float
    """Sum of the dispatch times inside the module."""
    fastest_ms: float | None
    """Wall time of the module in its fastest runs, as prices are of the fastest samples."""
    median_error: float | None
    """Median over the dispatches found on both sides of |predicted / measured - 1|."""
    unexpected: int
    """Dispatches that no choice stands for."""
    missing: int
    """Dispatches that a choice has where it is compiled alone, and that are not there."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One dispatch that is expected."""

    loops: tuple[int, ...]
    kernel: str = ""
    """What IREE calls it by, compiled alone; empty where that is not known."""
    kind: str = ""
    """Of a conversion, the word that IREE may name its dispatch by."""


@dataclass(frozen=True, slots=True)
class _Expected:
    op: str
    cost_ns: int
    parts: tuple[_Part, ...]
    """Each dispatch that is expected."""
    runs: int = 1
    """How often it is expected to run."""


def validate(
    plans: Sequence[GraphPlan],
    calls: Sequence[tuple[str, float]],
    fastest_ms: float | None,
    runs: Sequence[int] = (),
    predicted_ns: int | None = None,
    alone: Mapping[str, tuple[str, ...]] | None = None,
) -> Validation:
    """Match what the plans expected with the calls (dispatch, ns) of one run of the module.

    ``alone``: the dispatches of a piece of work compiled alone, by its text; where that is not
    known, one or more are expected by the loops of its ops. Equal names match first, then equal
    loops, which IREE names a dispatch by, then an equal number of points (IREE collapses loops),
    then packs and unpacks, which have no loops in their names; all in
    order of execution. ``runs``: how often each plan runs, once by default; all calls of an op in
    a loop are one row. Of several sizes that are planned for, calls are at the first one, and so
    are the rows; ``predicted_ns``: of the module at all of them, as ``fastest_ms`` is.
    """
    times = runs or (1,) * len(plans)
    expected = [
        replace(row, cost_ns=n * row.cost_ns, runs=n)
        for plan, n in zip(plans, times, strict=True)
        for row in _expected(plan, alone or {})
    ]
    parts = [(index, part) for index, row in enumerate(expected) for part in row.parts]
    left = dict(enumerate(calls))
    found: dict[int, list[int]] = {}
    for same in (_same_name, _same_loops, _same_points, _same_kind):
        for part, (index, own) in enumerate(parts):
            if part in found:
                continue
            match = next((i for i, (name, _) in left.items() if same(own, name)), None)
            if match is not None:
                again = [i for i, (name, _) in left.items() if name == left[match][0]]
                found[part] = again[: max(1, expected[index].runs)]
                for call in found[part]:
                    del left[call]
    _complete(found, [expected[index].runs for index, _ in parts], calls, left)
    rows = []
    errors = []
    missing = 0
    for index, row in enumerate(expected):
        if not row.parts:  # it moves nothing
            continue
        numbers = [p for p, (i, _) in enumerate(parts) if i == index]
        mine = [call for p in numbers for call in found.get(p, ())]
        absent = sum(p not in found for p in numbers)
        missing += absent
        measured = round(sum(calls[i][1] for i in mine)) if mine else None
        name, *further = dict.fromkeys(calls[i][0] for i in sorted(mine)) or ("",)
        rows.append(DispatchValidation(row.op, name, row.cost_ns, measured, tuple(further), absent))
        if measured:
            errors.append(abs(row.cost_ns / measured - 1))
    rows += [DispatchValidation("", name, None, round(ns)) for name, ns in left.values()]
    return Validation(
        tuple(rows),
        (predicted_ns or sum(row.cost_ns for row in expected)) / 1e6,
        sum(ns for _, ns in calls) / 1e6,
        fastest_ms,
        sorted(errors)[len(errors) // 2] if errors else None,
        len(left),
        missing,
    )


def _complete(
    found: Mapping[int, list[int]],
    runs: Sequence[int],
    calls: Sequence[tuple[str, float]],
    left: dict[int, tuple[str, float]],
) -> None:
    """Add calls of the same kernel to parts that were found less often than they run.

    Of a loop that was unrolled, IREE calls some steps by numbers of their own.
    """
    for part, mine in found.items():
        kernel = kernel_name(calls[mine[0]][0])
        for call in [i for i, (name, _) in left.items() if kernel_name(name) == kernel]:
            if len(mine) >= runs[part]:
                break
            mine.append(call)
            del left[call]


def _same_name(part: _Part, dispatch: str) -> bool:
    return bool(part.kernel) and part.kernel == kernel_name(dispatch)


def _same_loops(part: _Part, dispatch: str) -> bool:
    return same_loops(part.loops, dispatch)


def _same_points(part: _Part, dispatch: str) -> bool:
    others = loops_of(dispatch)
    return bool(others) and _same_size(part.loops, others)


def _same_kind(part: _Part, dispatch: str) -> bool:
    return part.kind in ("pack", "unpack") and f"_{part.kind}_" in f"{dispatch}_"


def _expected(plan: GraphPlan, alone: Mapping[str, tuple[str, ...]]) -> list[_Expected]:
    graph = plan.egraph.graph
    rows = []
    again = made_before(graph, plan.clusters, plan.choice.candidates)
    for candidate in plan.choice.candidates:
        cluster = plan.clusters[candidate.cluster]
        cost = _at_first_ns(plan, candidate, plan.costs.get(candidate, 0))
        if not cost:
            continue
        form = physical_form(graph, cluster, candidate)
        assert not isinstance(form, Refusal), form
        parts = _parts(plan, candidate, alone)
        if parts is None:
            parts = tuple(_Part(named_loops(part)) for part in dispatches(form))
        parts = _without(parts, again[candidate])
        rows.append(_Expected(graph.name_of(cluster.root), cost, parts))
    for conversion in plan.choice.conversions:
        if is_free(graph, conversion):
            continue
        tensor, source, target = conversion.tensor, conversion.source, conversion.target
        shape = target.physical_shape(graph.types[tensor].shape)
        kind = conversion_kind(graph.types[tensor].shape, source, target)
        if plan.lower_packs or conversion in plan.choice.lowered:
            kind = ConversionKind.TRANSPOSE
        cost = _at_first_ns(plan, conversion, plan.conversion_costs.get(conversion, 0))
        parts = _parts(plan, conversion, alone)
        if parts is None:
            parts = (_Part(closed(shape), kind=kind.value),)
        rows.append(_Expected(str(conversion), cost, parts))
    return rows


def _without(parts: tuple[_Part, ...], made: Iterable[Op]) -> tuple[_Part, ...]:
    """The dispatches of a choice but for those of ops that another choice has made."""
    left = list(parts)
    for op in made:
        loops = closed(op.domain) if isinstance(op, Structured) else ()
        own = next((part for part in left if loops and _same_size(part.loops, loops)), None)
        if own is not None:
            left.remove(own)
    return tuple(left)


def _same_size(loops: tuple[int, ...], others: tuple[int, ...]) -> bool:
    """Whether two ops have as many points, of known sizes: IREE collapses loops."""
    return OPEN not in (*loops, *others) and math.prod(loops) == math.prod(others)


def _parts(
    plan: GraphPlan, key: Candidate | Conversion, alone: Mapping[str, tuple[str, ...]]
) -> tuple[_Part, ...] | None:
    """The dispatches that a choice has compiled alone; None where that is not known."""
    piece = plan.piece(key)
    names = None if piece is None else alone.get(piece.text)
    if names is None:
        return None
    return tuple(_Part(loops_of(name), kernel_name(name)) for name in names)


def _at_first_ns(plan: GraphPlan, key: Candidate | Conversion, mean_ns: int) -> int:
    """The price at the first of several sizes that a plan is for."""
    price = plan.prices.get(key)
    return price.at_ns(0) if price is not None and price.by_size_ns else mean_ns
