"""Plans as JSON files: what was chosen, for which graph, at which price."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice, Conversion
from layoutopt.errors import InputError
from layoutopt.files.given import check_file, read_input
from layoutopt.files.written import write_text
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.solver import Solution, Status

VERSION = 1
"""Of the JSON form."""

_Index = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]
_Share = Annotated[float, msgspec.Meta(ge=0, le=1)]


@dataclass(frozen=True)
class FunctionPlan:
    """What was chosen for one function, with the prices that it was chosen at."""

    function: str
    graph: str
    """Fingerprint of the graph that the choice is for."""
    choice: Choice
    costs: Mapping[Candidate, int]
    conversion_costs: Mapping[Conversion, int]
    solution: Solution
    described: Mapping[Candidate, tuple[str, str]] = field(default_factory=dict)
    """(op, form) of each candidate, for `layoutopt explain`; nothing is read from it."""


def fingerprint(graph: Graph) -> str:
    """What tells one graph from another: its types and ops, not the values of its constants."""
    text = repr((graph.types, graph.ops, graph.inputs, graph.outputs))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def write_plan(path: Path, functions: Sequence[FunctionPlan]) -> None:
    """Write plans as JSON, whole or not at all."""
    table = {"version": VERSION, "functions": [_to_table(f) for f in functions]}
    write_text(path, json.dumps(table, indent=1) + "\n")


def read_plan(path: Path) -> tuple[FunctionPlan, ...]:
    """Read plans. Raises InputError for a file that is none."""
    check_file(path, "a plan file")
    text = read_input(path)
    try:
        version = msgspec.json.decode(text, type=_Versioned).version
        if version == VERSION:
            table = msgspec.json.decode(text, type=_Plan)
            return tuple(map(_function_plan, table.functions))
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InputError(
            str(path), "a plan that `--plan-out` wrote", str(error), "make the plan again"
        ) from error
    raise InputError(
        str(path), f"a plan of version {VERSION}", f"version {version}", "make the plan again"
    )


def is_plan(path: Path) -> bool:
    """Whether a file is a plan and no report, by its fields."""
    try:
        table = msgspec.json.decode(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(table, dict) and "functions" in table and "choices" not in table


def _to_table(plan: FunctionPlan) -> dict[str, object]:
    s = plan.solution
    return {
        "function": plan.function,
        "graph": plan.graph,
        "candidates": [
            {
                "cluster": c.cluster,
                "layouts": [[t, *_layout_table(layout)] for t, layout in c.layouts],
                "collapsed": c.collapsed,
                "hint": c.hint,
                "packed": c.packed,
                "unnamed": c.unnamed,
                "cost_ns": plan.costs[c],
                **dict(zip(("op", "form"), plan.described.get(c, ()), strict=False)),
            }
            for c in plan.choice.candidates
        ],
        "conversions": [
            {
                "tensor": t,
                "source": _layout_table(source),
                "target": _layout_table(target),
                "cost_ns": plan.conversion_costs.get((t, source, target), 0),
                "lowered": (t, source, target) in plan.choice.lowered,
            }
            for t, source, target in plan.choice.conversions
        ],
        "solution": {
            "status": s.status.value,
            "objective_ns": s.objective_ns,
            "bound_ns": s.bound_ns,
            "gap": s.gap,
            "seconds": s.seconds,
            "stop_reason": str(s.stop_reason),
        },
    }


def _layout_table(layout: Layout) -> list[list[int] | str]:
    return [
        list(layout.outer_dims_perm),
        list(layout.inner_dims_pos),
        list(layout.inner_tiles),
        layout.padding.value,
    ]


class _Versioned(msgspec.Struct):
    version: int


class _Layout(msgspec.Struct, array_like=True):
    outer_dims_perm: tuple[_Index, ...]
    inner_dims_pos: tuple[_Index, ...]
    inner_tiles: tuple[_Index, ...]
    padding: Padding = Padding.ZERO

    def value(self) -> Layout:
        """Raises ValueError where it is no layout of any tensor."""
        return Layout(self.outer_dims_perm, self.inner_dims_pos, self.inner_tiles, self.padding)


class _Placed(msgspec.Struct, array_like=True):
    tensor: _Index
    outer_dims_perm: tuple[_Index, ...]
    inner_dims_pos: tuple[_Index, ...]
    inner_tiles: tuple[_Index, ...]
    padding: Padding = Padding.ZERO

    def value(self) -> tuple[int, Layout]:
        """Raises ValueError where it is no layout of any tensor."""
        return self.tensor, Layout(
            self.outer_dims_perm, self.inner_dims_pos, self.inner_tiles, self.padding
        )


class _Candidate(msgspec.Struct):
    cluster: _Index
    layouts: tuple[_Placed, ...]
    collapsed: bool
    hint: bool
    cost_ns: _Index
    packed: bool = False
    unnamed: bool = False
    op: str | None = None
    form: str | None = None

    def value(self) -> Candidate:
        """Raises ValueError where a layout is none."""
        layouts = tuple(placed.value() for placed in self.layouts)
        way = (self.collapsed, self.hint, self.packed, self.unnamed)
        return Candidate(self.cluster, layouts, *way)


class _Conversion(msgspec.Struct):
    tensor: _Index
    source: _Layout
    target: _Layout
    cost_ns: _Index
    lowered: bool = False

    def value(self) -> Conversion:
        """Raises ValueError where a layout is none."""
        return self.tensor, self.source.value(), self.target.value()


class _Solution(msgspec.Struct):
    status: Status
    objective_ns: _Index
    bound_ns: _Index
    gap: _Share
    seconds: float
    stop_reason: str


class _Function(msgspec.Struct):
    function: str
    graph: str
    candidates: tuple[_Candidate, ...]
    conversions: tuple[_Conversion, ...]
    solution: _Solution


class _Plan(msgspec.Struct):
    version: int
    functions: tuple[_Function, ...]


def _function_plan(table: _Function) -> FunctionPlan:
    costs = {row.value(): row.cost_ns for row in table.candidates}
    conversions = {row.value(): row.cost_ns for row in table.conversions}
    if len(costs) != len(table.candidates) or len(conversions) != len(table.conversions):
        raise ValueError(f"a choice of function '{table.function}' twice")
    described = {
        row.value(): (row.op, row.form)
        for row in table.candidates
        if row.op is not None and row.form is not None
    }
    lowered = frozenset(row.value() for row in table.conversions if row.lowered)
    s = table.solution
    solution = Solution(
        s.status, (), (), s.objective_ns, s.bound_ns, s.gap, s.seconds, s.stop_reason
    )
    choice = Choice(tuple(costs), tuple(conversions), lowered)
    return FunctionPlan(
        table.function, table.graph, choice, costs, conversions, solution, described
    )
