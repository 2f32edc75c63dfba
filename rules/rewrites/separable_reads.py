"""Reads at computed places that are sums along each dim by itself: resizing of images.

    y[c, h, w] = sum over g, k of a_g[h] * b_k[w] * x[c, p_g[h], q_k[w]]

Found in the body as it stands: sums of products of what is read and of numbers, whose places and
factors each follow from one loop. All pairs (g, k) have to be there, each once, so that the sum is
one along ``w`` and then one along ``h``. What the places and factors are is worked out with the
oracle, in the types of the body.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product

from layoutopt.ir.affine import identity_map
from layoutopt.ir.extensions.computed_reads import ComputedReads
from layoutopt.ir.graph import GraphBuilder, IteratorType, Structured, Uninitialized
from layoutopt.ir.scalar import Body, ScalarOp, pruned, scalar_constant
from layoutopt.ir.types import Array, TensorType, is_float
from layoutopt.oracle.evaluate import evaluate

_MOST_TERMS = 64
"""Elements that one element of a result is made of: 4 along each of three dims."""

Factors = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Tap:
    """One element along a dim: the values of the body that are its place and its factors."""

    place: int
    factors: Factors


@dataclass(frozen=True, slots=True)
class Axis:
    """A dim of what is read that the result has in other places, by taps."""

    dim: int
    taps: tuple[Tap, ...]


@dataclass(frozen=True, slots=True)
class SeparableReads:
    """The one tensor that is read, and the dims along which sums run."""

    source: int
    axes: tuple[Axis, ...]
    element: str
    """The type of the sums."""


@dataclass(frozen=True, slots=True)
class _Term:
    factors: Factors
    read: ScalarOp


def separable_reads(op: ComputedReads, types: Sequence[TensorType]) -> SeparableReads | None:
    """What the body sums up, None where it is no such sum of one tensor with the result's dims."""
    if len(op.sources) != 1 or op.maps:
        return None
    (source,), (result,) = op.sources, op.results
    body = op.body
    terms = _terms(body, body.yields[0])
    if not terms:
        return None
    loops = _loops(body)
    shape, made = types[source].shape, types[result].shape
    if len(shape) != len(made) or not is_float(types[source].element):
        return None
    moving = [d for d in range(len(shape)) if not _kept(body, terms, d, shape[d] == made[d])]
    axes = _axes(terms, moving, loops)
    kinds = {body.type_of(f) for term in terms for f in term.factors}
    if axes is None or len(kinds) != 1:
        return None
    return SeparableReads(source, axes, kinds.pop())


def places_of(op: ComputedReads, axis: Axis, tap: Tap) -> Body:
    """The places of a tap, as whole numbers, for each point of a loop."""
    cast = ScalarOp("arith.index_cast", (tap.place,), "i64")
    return _along(axis, Body((), (*op.body.ops, cast), (len(op.body.ops),)))


def factors_of(op: ComputedReads, axis: Axis, tap: Tap, element: str) -> Body:
    """The product of the factors of a tap, for each point of a loop."""
    ops = list(op.body.ops)
    if not tap.factors:
        ops.append(scalar_constant(f"1.0 : {element}", element))
    total, *others = tap.factors or (len(ops) - 1,)
    for factor in others:
        ops.append(ScalarOp("arith.mulf", (total, factor), element))
        total = len(ops) - 1
    return _along(axis, Body((), tuple(ops), (total,)))


def table(body: Body, tensor: int, size: int) -> Structured:
    """What a body says at each point of one loop, as a constant that is made ahead of time."""
    (value,) = body.yields
    ops = tuple(replace(op, operands=tuple(o + 1 for o in op.operands)) for op in body.ops)
    own = Body((body.type_of(value),), ops, (value + 1,))
    loops, maps = (IteratorType.PARALLEL,), (identity_map(1),)
    return Structured((), (Uninitialized(),), (tensor,), (size,), loops, maps, own, ahead=True)


def values_of(body: Body, size: int) -> Array:
    """The elements of a table, in the body's own types."""
    builder = GraphBuilder()
    made = builder.tensor((size,), body.type_of(body.yields[0]))
    builder.add(table(body, made, size))
    return evaluate(builder.build((), (made,)), {})[made]


def _along(axis: Axis, body: Body) -> Body:
    return pruned(body).with_index_dims({axis.dim: 0})


def _terms(body: Body, value: int) -> tuple[_Term, ...] | None:
    """What is summed up, None where it is more than products with what is read."""
    reads: list[bool] = []
    for op in body.ops:
        reads.append(op.name == "tensor.extract" or any(reads[o] for o in op.operands))

    def of(value: int) -> tuple[_Term, ...] | None:
        op = body.ops[value]
        if not reads[value]:
            return () if op.name == "arith.constant" and _is_zero(op) else None
        if op.name == "tensor.extract":
            return (_Term((), op),)
        if op.name in ("arith.extf", "arith.truncf"):
            return of(op.operands[0])
        if op.name == "arith.mulf" and reads[op.operands[0]] != reads[op.operands[1]]:
            inside, factor = sorted(op.operands, key=lambda o: not reads[o])
            found = of(inside)
            return found and tuple(_Term((*t.factors, factor), t.read) for t in found)
        if op.name != "arith.addf":
            return None
        parts = [of(o) for o in op.operands]
        if any(part is None for part in parts):
            return None
        both = tuple(term for part in parts for term in part or ())
        return both if len(both) <= _MOST_TERMS else None

    return of(value)


def _is_zero(op: ScalarOp) -> bool:
    return is_float(op.type) and float(op.attribute("value").split()[0]) == 0.0


def _loops(body: Body) -> list[frozenset[int]]:
    """The loops that each value of a body follows from."""
    found: list[frozenset[int]] = []
    for op in body.ops:
        own = frozenset().union(*(found[o] for o in op.operands))
        if op.name == "linalg.index":
            own |= {int(op.attribute("dim"))}
        found.append(own)
    return found


def _kept(body: Body, terms: Iterable[_Term], dim: int, same: bool) -> bool:
    """Whether a dim is read where it is written; ``same``: whether its size is the result's."""
    places = {term.read.operands[dim] for term in terms}
    op = body.ops[min(places)]
    if not same or len(places) > 1:
        return False
    if op.name == "arith.constant":  # of the one element of a dim
        return op.attribute("value").split()[0] == "0"
    return op.name == "linalg.index" and int(op.attribute("dim")) == dim


def _axes(
    terms: Sequence[_Term], moving: Sequence[int], loops: Sequence[frozenset[int]]
) -> tuple[Axis, ...] | None:
    """The taps along each dim, None where the terms are not all their combinations."""
    if not moving:
        return None
    keys: list[tuple[Tap, ...]] = []
    for term in terms:
        places = {d: term.read.operands[d] for d in moving}
        if any(loops[place] != {d} for d, place in places.items()):
            return None
        shares: dict[int, list[int]] = {d: [] for d in moving}
        for factor in sorted(term.factors):
            along = min(loops[factor], default=moving[0])
            if along not in shares or len(loops[factor]) > 1:
                return None
            shares[along].append(factor)
        keys.append(tuple(Tap(places[d], tuple(shares[d])) for d in moving))
    along_each = [tuple(dict.fromkeys(taps)) for taps in zip(*keys, strict=True)]
    if len(set(keys)) != len(keys) or set(product(*along_each)) != set(keys):
        return None
    return tuple(Axis(d, taps) for d, taps in zip(moving, along_each, strict=True))
