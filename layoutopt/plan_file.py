"""Plans as JSON files: what was chosen, for which graph, at which price."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any  # what json.loads gives; checked by use

from layoutopt.candidate import Candidate
from layoutopt.errors import InputError
from layoutopt.graph import Graph
from layoutopt.layout import Layout
from layoutopt.output import write_text
from layoutopt.selection import Choice, Conversion
from layoutopt.solver import Solution, Status

VERSION = 1
"""Of the JSON form."""


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
    if not path.is_file():
        raise InputError(str(path), "a plan file", "no such file", "check the path")
    try:
        table = json.loads(path.read_text(encoding="utf-8"))
        version = table["version"]
        functions = tuple(map(_from_table, table["functions"])) if version == VERSION else ()
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise InputError(
            str(path), "a plan that `--plan-out` wrote", f"{error!r}", "make the plan again"
        ) from error
    if version != VERSION:
        raise InputError(
            str(path), f"a plan of version {VERSION}", f"version {version}", "make the plan again"
        )
    return functions


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
            }
            for c in plan.choice.candidates
        ],
        "conversions": [
            {
                "tensor": t,
                "source": _layout_table(source),
                "target": _layout_table(target),
                "cost_ns": plan.conversion_costs.get((t, source, target), 0),
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


def _layout_table(layout: Layout) -> list[list[int]]:
    return [list(layout.outer_dims_perm), list(layout.inner_dims_pos), list(layout.inner_tiles)]


def _layout(table: list[list[int]]) -> Layout:
    return Layout(tuple(table[0]), tuple(table[1]), tuple(table[2]))


def _from_table(table: dict[str, object]) -> FunctionPlan:
    costs: dict[Candidate, int] = {}
    conversions: dict[Conversion, int] = {}
    for row in _rows(table["candidates"]):
        layouts = tuple((row_[0], _layout(row_[1:])) for row_ in row["layouts"])
        candidate = Candidate(
            row["cluster"],
            layouts,
            row["collapsed"],
            row["hint"],
            row.get("packed", False),
            row.get("unnamed", False),
        )
        costs[candidate] = int(row["cost_ns"])
    for row in _rows(table["conversions"]):
        conversion = (row["tensor"], _layout(row["source"]), _layout(row["target"]))
        conversions[conversion] = int(row["cost_ns"])
    s = _rows([table["solution"]])[0]
    solution = Solution(
        Status(s["status"]),
        (),
        (),
        s["objective_ns"],
        s["bound_ns"],
        s["gap"],
        s["seconds"],
        s["stop_reason"],
    )
    return FunctionPlan(
        str(table["function"]),
        str(table["graph"]),
        Choice(tuple(costs), tuple(conversions)),
        costs,
        conversions,
        solution,
    )


def _rows(value: object) -> list[dict[str, Any]]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    return value
