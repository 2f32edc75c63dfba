"""What the plan still moves, where, and why: its conversions, and the dispatches IREE makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from layoutopt.candidates.candidate import physical_form
from layoutopt.candidates.choice import is_free
from layoutopt.candidates.conversion import (
    Conversion,
    conversion_form,
    lower_packs,
)
from layoutopt.ir.affine import runs_backwards
from layoutopt.ir.graph import Graph, Op, Pack, Structured, Unpack
from layoutopt.ir.layout import conversion_kind
from layoutopt.ir.refusal import Refusal
from layoutopt.mlir.read.census import reorders
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.planning.objective import is_move
from layoutopt.report.report import ContractionsReport, ConversionReport, MoveReport
from layoutopt.report.validation import Validation
from layoutopt.verification.data_movement import MoveDispatch


def contractions_of(plans: Sequence[GraphPlan]) -> ContractionsReport:
    """How many contractions and convolutions run over tiles, and which do not."""
    total = packed = 0
    unpacked: list[str] = []
    for plan in plans:
        for candidate in plan.choice.candidates:
            for index in plan.clusters[candidate.cluster].ops:
                op = plan.egraph.graph.ops[index]
                if not isinstance(op, Structured) or not op.is_contraction:
                    continue
                total += 1
                packed += candidate.form.is_packed
                if not candidate.form.is_packed:
                    unpacked.append(plan.egraph.graph.name_of(index))
    return ContractionsReport(total, packed, tuple(unpacked))


def labels_of(plan: GraphPlan) -> list[str]:
    """The labels of the conversions between candidates, in the order of the report."""
    return [str(conversion) for conversion in _moving(plan)]


def _moving(plan: GraphPlan) -> list[Conversion]:
    """The conversions that run: columns of padding may be cut off what lies together."""
    graph = plan.egraph.graph
    return [
        conversion
        for conversion in plan.choice.conversions
        if not is_free(graph, conversion) and not conversion_form(graph, conversion).is_free
    ]


def conversions_of(function: str, plan: GraphPlan) -> list[ConversionReport]:
    """The conversions between candidates that move something, in the order of `labels_of`."""
    found = []
    for conversion in _moving(plan):
        tensor, source, target = conversion.tensor, conversion.source, conversion.target
        kind = plan.egraph.graph.types[tensor]
        size = source.size_bytes(kind) + target.size_bytes(kind)
        form = conversion_form(plan.egraph.graph, conversion).graph
        names = [_move_name(op, form) for op in form.ops if is_move(op)]
        word = "+".join(names) or conversion_kind(kind.shape, source, target).value
        if plan.lower_packs or conversion in plan.choice.lowered:
            if any(isinstance(op, Pack | Unpack) for op in form.ops):
                word += " (as transpose)"
            form = lower_packs(form)
        found.append(
            ConversionReport(
                function,
                f"t{tensor}: {kind}",
                word,
                str(source),
                str(target),
                size,
                plan.conversion_costs.get(conversion),
                _why(plan, conversion),
                tuple(name for op in form.ops if (name := _written_as(op))),
            )
        )
    return found


def moves_inside(function: str, plan: GraphPlan) -> list[ConversionReport]:
    """What moves data as a part of a candidate; the price is that of all of it."""
    graph = plan.egraph.graph
    found = []
    for candidate in plan.choice.candidates:
        cluster = plan.clusters[candidate.cluster]
        form = physical_form(graph, cluster, candidate)
        assert not isinstance(form, Refusal), form
        whole = lower_packs(form.graph) if plan.lower_packs else form.graph
        for op in whole.ops:
            written = _written_as(op)
            if not written and not is_move(op):
                continue
            types = whole.types
            read, made = types[op.inputs[0]], types[op.outputs[0]]
            outputs = ", ".join(f"t{t}: {graph.types[t]}" for t in cluster.outputs)
            found.append(
                ConversionReport(
                    function,
                    outputs,
                    _move_name(op, whole),
                    str(read),
                    str(made),
                    read.size_bytes + made.size_bytes,
                    plan.costs[candidate],
                    f"it is part of {graph.name_of(cluster.root)} in the form that was chosen",
                    (written,) if written else (),
                )
            )
    return found


def _move_name(op: Op, graph: Graph) -> str:
    if isinstance(op, Pack | Unpack):
        return "pack" if isinstance(op, Pack) else "unpack"
    read, made = graph.types[op.inputs[0]], graph.types[op.outputs[0]]
    return "transpose" if read.elements == made.elements else "im2col"


def _written_as(op: Op) -> str:
    """What an op is in the module, as a census of the module tells it; empty for no move."""
    if isinstance(op, Pack | Unpack):
        return "pack" if isinstance(op, Pack) else "unpack"
    if not isinstance(op, Structured) or not op.is_copy or len(op.maps) != 2:
        return ""
    if runs_backwards(op.maps[0]):  # written as reads at computed places
        return ""
    source, result = ([dim for form in m for dim in form.dims] for m in op.maps)
    return "transpose" if reorders(source, result) else ""


def _why(plan: GraphPlan, conversion: Conversion) -> str:
    """Who makes the one layout and who wants the other."""
    tensor, source, target = conversion.tensor, conversion.source, conversion.target
    name = plan.egraph.graph.name_of
    graph = plan.egraph.graph
    makers = [
        name(plan.clusters[c.cluster].root)
        for c in plan.choice.candidates
        if tensor in plan.clusters[c.cluster].outputs and c.layout_of(tensor) == source
    ]
    takers = [
        name(plan.clusters[c.cluster].root)
        for c in plan.choice.candidates
        if tensor in plan.clusters[c.cluster].inputs and c.layout_of(tensor) == target
    ]
    if tensor in graph.outputs and target.is_row_major:
        takers.append("the model's output")
    if (tensor, target) in plan.ends.handed:
        takers.append("control flow")
    given = "control flow" if plan.ends.taken.get(tensor) == source else "the model's input"
    made = makers[0] if makers else given
    wanted = " and ".join(takers) or "what reads it"
    return f"from {made} in {source} to {wanted} in {target}"


def compiled_moves(
    moves: Sequence[MoveDispatch],
    validation: Validation,
    planned: Mapping[str, ConversionReport],
) -> tuple[MoveReport, ...]:
    """The dispatches that only move data, each with the conversion that it was planned as."""
    meant = {name: row.op for row in validation.dispatches for name in row.names}
    found = []
    for move in moves:
        row = planned.get(meant.get(move.name, ""))
        place, size, reason = "", None, "no conversion of the plan: IREE copies here by itself"
        if row is not None:
            place, size, reason = row.tensor, row.size_bytes, row.reason
        elif meant.get(move.name):
            place, reason = meant[move.name], "the op itself only moves data"
        found.append(
            MoveReport(move.name, move.kind, move.count, move.mean_ns, place, size, reason)
        )
    return tuple(found)
