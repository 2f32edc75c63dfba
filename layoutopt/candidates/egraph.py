"""Saturation: run all rewrite rules until nothing new appears or a limit is met."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from layoutopt.candidates.known_slices import KnownSlices
from layoutopt.candidates.soundness import Soundness
from layoutopt.ir.graph import Graph, Op
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rule import EVERY_EXACTNESS, Exactness, RewriteRule, apply


class SaturationStop(Enum):
    """Why saturation ended."""

    SATURATED = "saturated"
    OP_LIMIT = "op limit"


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


def saturate(  # noqa: PLR0912, PLR0915 -- one fixed point
    graph: Graph,
    rules: Sequence[RewriteRule[Any]] = REWRITES,
    op_limit: int = 20_000,
    soundness: Soundness | None = None,
    admitted: Collection[Exactness] = EVERY_EXACTNESS,
    made_by: Sequence[tuple[str, ...]] | None = None,
) -> EGraph:
    """Add every alternative that the rules find; each (op, rule) fires once at most.

    ``soundness``: refuses those that compute something else than the op that they replace.
    ``admitted``: rules of another exactness are left out. ``made_by``: for each op the rules that
    made it before.
    Where an op's input gets another producer, the rules that found nothing there look again.
    """
    rules = [rule for rule in rules if rule.exactness in admitted]
    origin = list(range(len(graph.ops)))
    made: list[tuple[str, ...]] = [*(made_by or [()] * len(graph.ops))]
    refusals: dict[RefusedRewrite, None] = {}
    canonicalized: set[int] = set()
    atomic: list[tuple[int, ...]] = []
    seen: dict[Op, int] = {op: i for i, op in enumerate(graph.ops)}
    slices = KnownSlices(graph)
    original = len(graph.ops)
    grown = graph
    stop = SaturationStop.SATURATED
    pending = deque(range(original))
    fired: set[tuple[int, str]] = set()
    while pending:
        if len(grown.ops) > op_limit:
            stop = SaturationStop.OP_LIMIT
            break
        index = pending.popleft()
        for rule in rules if _is_computed(grown, index) else ():
            if (index, rule.name) in fired:
                continue
            found = apply(rule, grown, index)
            if isinstance(found, Refusal):
                refusals[RefusedRewrite(origin[index], rule.name, found.reason)] = None
            if found is None or isinstance(found, Refusal):
                continue
            found = slices.reused(found, grown)
            replaced = found.replaces or (index,)
            fired.update((i, rule.name) for i in replaced)
            reasons = (soundness.reason(grown, i, found) for i in replaced if soundness is not None)
            unsound = next(filter(None, reasons), "")
            if unsound:
                refusals[RefusedRewrite(origin[index], rule.name, unsound)] = None
                continue
            if rule.canonicalizes:
                canonicalized.add(index)
            if all(op in seen for op in found.ops):
                continue
            of_result = {t: i for i in replaced for t in grown.ops[i].outputs}
            homes = [
                origin[next((of_result[t] for t in op.outputs if t in of_result), index)]
                for op in found.ops
            ]
            grown = grown.extended(found.types, found.ops, [graph.name_of(h) for h in homes])
            slices.add(found.ops, grown.types)
            if found.atomic:
                first = len(origin)
                new = range(first, first + len(found.ops))
                atomic.append(tuple(i for i in new if _is_computed(grown, i)))
            for op, home in zip(found.ops, homes, strict=True):
                seen[op] = len(origin)
                if not found.atomic:
                    pending.append(len(origin))
                origin.append(home)
                made.append((*made[index], rule.name))
            for tensor in of_result:
                pending.extend(c for c in grown.consumers[tensor] if c not in pending)
    return EGraph(
        grown,
        original,
        tuple(made),
        frozenset(canonicalized),
        tuple(atomic),
        tuple(refusals),
        stop,
        tuple(range(original)),
    )


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


def _is_computed(graph: Graph, index: int) -> bool:
    """What constants compute is evaluated ahead of time and needs no other form."""
    return not all(t in graph.constants for t in graph.ops[index].outputs)
