"""The e-graph: a model with all equal ways to compute its tensors.

A tensor is an e-class, an op an e-node over classes (`Graph.producers`). `Classes` keeps it closed
under congruence while it grows, `saturate` has the rules add to it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum

from layoutopt.ir.graph import Graph


class SaturationStop(Enum):
    """Why saturation ended."""

    SATURATED = "saturated"
    OP_LIMIT = "op limit"
    MATCH_LIMIT = "match limit"
    """Rules were tried so often that the rest is left."""


@dataclass(frozen=True, slots=True)
class RefusedRewrite:
    """A rule that matched an op but would not have been sound there."""

    op: int
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class EGraph:
    """The graph with all alternatives behind its own ops.

    ``rule[i]`` are the rules that made op i; ops below ``original_ops`` are the model's own, in
    canonical form.
    """

    graph: Graph
    original_ops: int
    rule: tuple[tuple[str, ...], ...]
    canonicalized: frozenset[int]
    """Ops that a canonical form replaces in all but their original layout."""
    atomic: tuple[tuple[int, ...], ...]
    """Ops of one rewrite that get one price as a whole, in order."""
    refusals: tuple[RefusedRewrite, ...]
    stop_reason: SaturationStop
    came: tuple[int, ...] = ()
    """The model as it came, in order: its own ops, and behind all others those that normalization
    replaced."""


def beside_its_canonical_form(egraph: EGraph, came: Graph) -> EGraph:
    """The same with the ops of the model as it came that normalization replaced.

    No rule looks at them. ``came`` has the tensors of the canonical form.
    """
    place = {op: i for i, op in enumerate(egraph.graph.ops[: egraph.original_ops])}
    replaced = [i for i, op in enumerate(came.ops) if op not in place]
    first = len(egraph.graph.ops)
    ops = [came.ops[i] for i in replaced]
    place |= {op: first + i for i, op in enumerate(ops)}
    return replace(
        egraph,
        graph=egraph.graph.extended((), ops, [came.name_of(i) for i in replaced]),
        rule=(*egraph.rule, *((),) * len(ops)),
        came=tuple(place[op] for op in came.ops),
    )
