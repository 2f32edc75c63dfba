"""Evaluate contractions through batched matmul: loops sorted into batch, m, n, k."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from layoutopt.ir.affine import IndexMap
from layoutopt.ir.graph import Structured
from layoutopt.ir.types import Array
from layoutopt.oracle.precision import rounds, unit_roundoff
from layoutopt.oracle.rounding import Bounded, quantum_of, sum_error, total
from layoutopt.oracle.structured import Tensors, start_of, view_of


def is_matmul(op: Structured) -> bool:
    """Whether the op can go through matmul: each parallel loop is one dim of the result."""
    if not op.is_contraction:
        return False
    result = op.result_maps[0]
    dims = [form.plain_dim for form in result]
    parallel = [d for d in range(len(op.domain)) if d not in op.reduction_dims]
    plain = all(form.plain_dim is not None or not form.terms for form in result)
    offsets = any(form.offset for form in result)
    return plain and not offsets and sorted(d for d in dims if d is not None) == parallel


def contract(op: Structured, tensors: Tensors) -> Bounded:
    """The result, with the bound of its error where it is wanted."""
    start = start_of(op, 0, tensors)
    lhs, rhs = (tensors.read(t) for t in op.sources)
    loops = _Loops.of(op)
    with np.errstate(all="ignore"):
        value = start.value + loops.product(lhs.value, rhs.value)
    if tensors.errors is None:
        return tensors.kept(op.results[0], Bounded(value))
    errors = total(start.error, *_errors(loops, lhs, rhs))
    element = op.body.arguments[2]
    count = 1 + math.prod(op.domain[d] for d in op.reduction_dims)
    if rounds(element):
        quantum = quantum_of(lhs.value) * quantum_of(rhs.value)
        quantum = min(quantum_of(start.value), 0.0 if math.isnan(quantum) else quantum)
        sizes = _sizes(loops, (start.value, lhs.value, rhs.value), quantum, count, element)
        errors = sum_error(sizes, quantum, count, element, errors)
    return tensors.kept(op.results[0], Bounded(value, errors))


def _sizes(
    loops: _Loops,
    operands: tuple[Array, Array, Array],
    quantum: float,
    count: int,
    element: str,
) -> Array:
    """The sums of magnitudes; no more than a bound of them where that shows the sum exact.

    ``operands``: start, lhs and rhs.
    """
    start, lhs, rhs = operands
    most = [float(np.max(np.abs(a), initial=0.0)) for a in operands]
    bound = most[0] + count * most[1] * most[2]
    if bound * unit_roundoff(element) <= quantum / 2:
        return np.full(start.shape, bound)
    with np.errstate(all="ignore"):
        return np.abs(start) + loops.product(np.abs(lhs), np.abs(rhs))


def _errors(loops: _Loops, lhs: Bounded, rhs: Bounded) -> list[Array]:
    """What errors of the operands make of the sum."""
    found = []
    with np.errstate(all="ignore"):
        for one, other in ((lhs, rhs), (rhs, lhs)):
            if one.error is None:
                continue
            error = np.broadcast_to(one.error, one.value.shape)
            reach = np.abs(other.value)
            if other.error is not None and one is lhs:
                reach = reach + np.broadcast_to(other.error, other.value.shape)
            pair = (error, reach) if one is lhs else (reach, error)
            found.append(loops.product(*(np.asarray(p, np.float64) for p in pair)))
    return found


@dataclass(frozen=True, slots=True)
class _Loops:
    """The loops of a contraction by what they run over."""

    domain: tuple[int, ...]
    maps: tuple[IndexMap, ...]
    batch: tuple[int, ...]
    m: tuple[int, ...]
    n: tuple[int, ...]
    k: tuple[int, ...]

    @staticmethod
    def of(op: Structured) -> _Loops:
        """Sort the loops of a contraction."""
        lhs, rhs = ({d for form in m for d in form.dims} for m in op.source_maps)
        reduced = set(op.reduction_dims)
        parallel = [d for d in range(len(op.domain)) if d not in reduced]
        return _Loops(
            op.domain,
            op.maps,
            tuple(d for d in parallel if d in lhs and d in rhs),
            tuple(d for d in parallel if d in lhs and d not in rhs),
            tuple(d for d in parallel if d not in lhs),
            tuple(sorted(reduced)),
        )

    def product(self, lhs: Array, rhs: Array) -> Array:
        """The sum over k, its dims in the order of the result's."""
        left = self._matrix(view_of(lhs, self.maps[0], self.domain), self.m, self.k)
        right = self._matrix(view_of(rhs, self.maps[1], self.domain), self.k, self.n)
        made = (*self.batch, *self.m, *self.n)
        product = np.matmul(left, right).reshape([self.domain[d] for d in made])
        result = self.maps[2]
        order = [form.plain_dim for form in result if form.plain_dim is not None]
        shape = [1 if form.plain_dim is None else self.domain[form.plain_dim] for form in result]
        return np.asarray(product.transpose([made.index(d) for d in order]).reshape(shape))

    def _matrix(self, view: Array, rows: Sequence[int], columns: Sequence[int]) -> Array:
        groups = (self.batch, rows, columns)
        shape = [math.prod(self.domain[d] for d in group) for group in groups]
        used = [d for group in groups for d in group]
        kept = view[tuple(slice(None) if d in used else 0 for d in range(len(self.domain)))]
        place = {d: i for i, d in enumerate(sorted(used))}
        return kept.transpose([place[d] for d in used]).reshape(shape)
