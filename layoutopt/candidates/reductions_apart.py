"""Reductions of a graph apart from what they reduce, and from what is made of their results.

    s[r] = sum exp(x[r, c])      ->      e[r, c] = exp(x[r, c]); s is an input

What is left computes point by point, and tells what each point is computed from.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from layoutopt.candidates.one_op import ahead_of_reshapes
from layoutopt.ir.affine import identity_map
from layoutopt.ir.graph import Fill, Graph, IteratorType, Op, Structured, Uninitialized
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import COMMUTATIVE, Body, ScalarOp, pruned
from layoutopt.ir.types import TensorType


@dataclass(frozen=True)
class Reduction:
    """What makes a number of each row."""

    tensor: int
    """That is reduced."""
    combining: ScalarOp
    start: str
    dims: int
    """Dims of a row that are longer than one."""


@dataclass(frozen=True)
class ReductionsApart:
    """A graph in which each reduction computes what it reduces, and its result is an input."""

    graph: Graph
    reductions: Mapping[int, Reduction]
    """By result."""
    order: tuple[int, ...]
    """These results, then those of the graph that are neither one of them nor a reshape of one."""


def reductions_apart(graph: Graph) -> ReductionsApart | Refusal:
    """The graph up to its reductions, and from their results on."""
    ops: list[Op] = []
    types = [*graph.types]
    found: dict[int, Reduction] = {}
    for op in graph.ops:
        if not isinstance(op, Structured) or not op.reduction_dims:
            ops.append(op)
            continue
        mapped = _mapped(op)
        if isinstance(mapped, Refusal):
            return mapped
        body, combining = mapped
        (init,) = op.inits
        assert isinstance(init, Fill)
        types.append(TensorType(op.domain, body.arguments[-1]))
        loops = len(op.domain)
        ops.append(
            replace(
                op,
                inits=(Uninitialized(),),
                results=(len(types) - 1,),
                iterators=(IteratorType.PARALLEL,) * loops,
                maps=(*op.source_maps, identity_map(loops)),
                body=body,
            )
        )
        wide = [d for d in op.reduction_dims if op.domain[d] != 1]
        found[op.results[0]] = Reduction(len(types) - 1, combining, init.value, len(wide))
    if not found:
        return Refusal("expected rows that are reduced, but got none")
    bases = dict.fromkeys(ahead_of_reshapes(graph, t) for t in graph.outputs)
    inputs = (*graph.inputs, *found)
    return ReductionsApart(
        Graph(tuple(types), tuple(ops), inputs, ()),
        found,
        (*found, *(t for t in bases if t not in found)),
    )


def _mapped(op: Structured) -> tuple[Body, ScalarOp] | Refusal:
    """What a reduction reduces, as a body over all of its loops, and the op that it reduces by."""
    wide = [d for d in range(len(op.domain)) if op.domain[d] != 1]
    reduced = [d for d in wide if d in op.reduction_dims]
    made = [form.plain_dim for form in op.result_maps[0] if any(d in wide for d in form.dims)]
    if len(op.results) != 1 or not isinstance(op.inits[0], Fill):
        return Refusal("expected reductions with one result, from one value")
    if made != [d for d in wide if d not in reduced]:
        return Refusal("expected reductions whose results lie in the order of their loops")
    if not reduced or wide[-len(reduced) :] != reduced:
        return Refusal("expected rows along the last loops of a reduction")
    body, own = op.body, len(op.sources)
    combining = body.op_of(body.yields[0])
    if combining is None or combining.name not in COMMUTATIVE or own not in combining.operands:
        return Refusal("expected a reduction by one op that takes its operands in any order")
    (value, *more) = [v for v in combining.operands if v != own] or [own]
    uses = sum(o.operands.count(own) for o in body.ops)
    if value == own or more or uses != 1:
        return Refusal("expected a reduction that reads its sum once")
    element = body.type_of(value)
    arguments = (*body.arguments[:-1], element)
    return pruned(Body(arguments, body.ops, (value,))), combining
