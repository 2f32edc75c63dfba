"""Plans as JSON files: what was chosen, for which function and target, at which price.

Files name tensors and clusters by what computes them (`StableNames`), so a plan can be used again
after rules were added, and what no longer exists is known by name.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated

import msgspec

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice
from layoutopt.candidates.conversion import Conversion
from layoutopt.candidates.form import Form
from layoutopt.candidates.stable_names import StableNames
from layoutopt.errors import InputError
from layoutopt.files.given import check_file, read_input
from layoutopt.files.written import write_text
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout
from layoutopt.ir.schedule import RowTile, Tile, VectorTile, WorkgroupTile
from layoutopt.ir.size_range import Ranges, body_name
from layoutopt.options import Objective
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.solver import Solution

VERSION = 3
"""Of the JSON form."""
TOOL = version("layoutopt")

Nanoseconds = Annotated[int, msgspec.Meta(ge=0, le=1 << 53)]


@dataclass(frozen=True, slots=True)
class PlacedTensor:
    """A tensor in a layout."""

    name: str
    """As `StableNames` has it."""
    label: str
    """As reports have it."""
    layout: Layout


@dataclass(frozen=True, slots=True)
class PlannedCandidate:
    """A candidate that was chosen."""

    cluster: str
    op: str
    """Name of the op that the cluster is about, in reports."""
    made_by: str
    """The rules and the form behind it, in reports."""
    form: Form
    tensors: tuple[PlacedTensor, ...]
    cost_ns: Nanoseconds
    tile: VectorTile | None = None
    """What registers hold, where the form is scheduled for a processor."""
    workgroup: WorkgroupTile | None = None
    """What workgroups hold, where it is scheduled for a GPU."""
    rows: RowTile | None = None
    """How workgroups share rows, where it is scheduled for a GPU and reduces these."""

    @property
    def schedule(self) -> Tile | None:
        """The tile, of whatever kind."""
        return self.tile or self.workgroup or self.rows


@dataclass(frozen=True, slots=True)
class PlannedConversion:
    """A conversion that was chosen."""

    tensor: str
    label: str
    source: Layout
    target: Layout
    cost_ns: Nanoseconds
    lowered: bool
    """Written as reshapes and transposes in place of packs."""


@dataclass(frozen=True)
class FunctionPlan:
    """What was chosen for one function, with the prices that it was chosen at."""

    function: str
    graph: str
    """Fingerprint of the graph that the choice is for."""
    candidates: tuple[PlannedCandidate, ...]
    conversions: tuple[PlannedConversion, ...]
    solution: Solution
    ranges: Ranges = ()
    """The sizes that it is for, where the function has a plan for each of several ranges."""
    share: float = 1.0
    """What these sizes count, of what all sizes of the function do."""

    @property
    def name(self) -> str:
        """The function, and the sizes where it has several plans."""
        return body_name(self.function, self.ranges)


@dataclass(frozen=True, slots=True)
class CarriedLayout:
    """The layout of a tensor that control flow hands on; those that are not named are row-major."""

    name: str
    layout: Layout


@dataclass(frozen=True)
class PlanFile:
    """All that a file holds."""

    target: str
    """Name of the target that the plan was made for."""
    objective: Objective
    functions: tuple[FunctionPlan, ...]
    tool: str = TOOL
    """Version of layoutopt that made it."""
    version: int = VERSION
    carried: tuple[CarriedLayout, ...] = ()


def fingerprint(graph: Graph) -> str:
    """What tells one graph from another: its types and ops, not the values of its constants."""
    text = repr((graph.types, graph.ops, graph.inputs, graph.outputs))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def function_plans(function: str, graph: Graph, plan: GraphPlan) -> tuple[FunctionPlan, ...]:
    """What is written of a function: its plan, or one for each of several ranges of its sizes."""
    if not plan.specializations:
        return (function_plan(function, graph, plan),)
    return tuple(
        replace(function_plan(function, graph, s.plan), ranges=s.ranges, share=s.share)
        for s in plan.specializations
    )


def function_plan(function: str, graph: Graph, plan: GraphPlan) -> FunctionPlan:
    """A plan of ``graph``, the function as it came, in the names that files use."""
    names = StableNames(plan.egraph.graph, plan.clusters)
    return FunctionPlan(
        function,
        fingerprint(graph),
        tuple(
            PlannedCandidate(
                names.clusters[c.cluster],
                plan.egraph.graph.name_of(plan.clusters[c.cluster].root),
                plan.form_name(c),
                c.form,
                tuple(PlacedTensor(names.tensors[t], f"t{t}", layout) for t, layout in c.layouts),
                plan.costs[c],
                c.tile if isinstance(c.tile, VectorTile) else None,
                c.tile if isinstance(c.tile, WorkgroupTile) else None,
                c.tile if isinstance(c.tile, RowTile) else None,
            )
            for c in plan.choice.candidates
        ),
        tuple(
            PlannedConversion(
                names.tensors[c.tensor],
                f"t{c.tensor}",
                c.source,
                c.target,
                plan.conversion_costs.get(c, 0),
                c in plan.choice.lowered,
            )
            for c in plan.choice.conversions
        ),
        plan.solution,
    )


def chosen(
    plan: FunctionPlan, names: StableNames
) -> tuple[Choice, dict[Candidate, int], dict[Conversion, int]] | str:
    """The choice in numbers, with its costs in nanoseconds; or what of it does not exist here."""
    costs: dict[Candidate, int] = {}
    for row in plan.candidates:
        cluster = names.cluster_numbers.get(row.cluster)
        if cluster is None:
            return f"'{row.made_by}' of {row.op}, which no rule makes"
        missing = next((t for t in row.tensors if t.name not in names.tensor_numbers), None)
        if missing is not None:
            return f"tensor {missing.label} of {row.op}, which no op makes"
        layouts = tuple((names.tensor_numbers[t.name], t.layout) for t in row.tensors)
        costs[Candidate(cluster, layouts, row.form, row.schedule)] = row.cost_ns
    conversion_costs: dict[Conversion, int] = {}
    lowered: set[Conversion] = set()
    for change in plan.conversions:
        tensor = names.tensor_numbers.get(change.tensor)
        if tensor is None:
            return f"a conversion of tensor {change.label}, which no op makes"
        conversion = Conversion(tensor, change.source, change.target)
        conversion_costs[conversion] = change.cost_ns
        if change.lowered:
            lowered.add(conversion)
    if len(costs) != len(plan.candidates) or len(conversion_costs) != len(plan.conversions):
        return "a choice twice"
    choice = Choice(tuple(costs), tuple(conversion_costs), frozenset(lowered))
    return choice, costs, conversion_costs


def write_plan(path: Path, plan: PlanFile) -> None:
    """Write a plan as JSON, whole or not at all."""
    text = msgspec.json.format(msgspec.json.encode(plan), indent=1).decode()
    write_text(path, text + "\n")


def read_plan(path: Path) -> PlanFile:
    """Read a plan. Raises InputError for any other file."""
    check_file(path, "a plan file")
    text = read_input(path)
    try:
        found = msgspec.json.decode(text, type=_Versioned).version
        if found == VERSION:
            return msgspec.json.decode(text, type=PlanFile)
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise InputError(
            str(path), "a plan that `--plan-out` wrote", str(error), "make the plan again"
        ) from error
    raise InputError(
        str(path), f"a plan of version {VERSION}", f"version {found}", "make the plan again"
    )


def is_plan(path: Path) -> bool:
    """Whether a file is a plan and no report, by its fields."""
    try:
        table = msgspec.json.decode(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(table, dict) and "functions" in table and "choices" not in table


class _Versioned(msgspec.Struct):
    version: int
