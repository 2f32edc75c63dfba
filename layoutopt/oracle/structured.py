"""Evaluate linalg ops: the body over its iteration domain, in the widest types.

Sums are accumulated in float64 for any type, so that their order does not matter.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutopt.ir.affine import IndexMap
from layoutopt.ir.graph import Fill, FromTensor, Structured
from layoutopt.ir.scalar import is_reassociable
from layoutopt.ir.types import Array, TensorType, numpy_dtype
from layoutopt.oracle.body import scalar_result
from layoutopt.oracle.constant import constant
from layoutopt.oracle.error import OracleError
from layoutopt.oracle.precision import rounds
from layoutopt.oracle.rounding import (
    Bounded,
    as_read,
    quantum_of,
    rounding_error,
    sum_error,
    total,
)
from layoutopt.oracle.wide import rounded, stored, widened

_BLOCK = 1 << 22
"""Points of the domain that a sum or an extreme takes at once, at most."""
_SUMS = ("arith.addf", "arith.addi", "complex.add")
_EXTREMES: dict[str, np.ufunc] = {
    "arith.maximumf": np.maximum,
    "arith.minimumf": np.minimum,
    "arith.maxnumf": np.fmax,
    "arith.minnumf": np.fmin,
    "arith.maxsi": np.maximum,
    "arith.minsi": np.minimum,
}


@dataclass(frozen=True, slots=True)
class Tensors:
    """What is known of tensors: values, and bounds of their errors where these are wanted."""

    types: tuple[TensorType, ...]
    values: Mapping[int, Array]
    errors: Mapping[int, Array] | None

    def read(self, tensor: int) -> Bounded:
        """A tensor in the widest type of its kind."""
        wide = widened(self.values[tensor], self.types[tensor].element)
        return Bounded(wide, None if self.errors is None else self.errors.get(tensor))

    def stored(self, tensor: int) -> Bounded:
        """A tensor in its own type."""
        return Bounded(
            self.values[tensor], None if self.errors is None else self.errors.get(tensor)
        )

    def kept(self, tensor: int, found: Bounded) -> Bounded:
        """A result as the tensor's type holds it."""
        element = self.types[tensor].element
        error = found.error
        if self.errors is not None and rounds(element):
            error = total(error, rounding_error(found.value, element))
        return Bounded(stored(rounded(found.value, element), element), error)


def start_of(op: Structured, position: int, tensors: Tensors) -> Bounded:
    """What a result holds before the first point; a copy."""
    kind, init = tensors.types[op.results[position]], op.inits[position]
    if isinstance(init, FromTensor):
        found = tensors.read(init.tensor)
        return Bounded(found.value.copy(), found.error)
    if numpy_dtype(kind.element) is None:
        raise unknown_type(kind.element)
    text = init.value if isinstance(init, Fill) else "0"
    value = constant(
        text if isinstance(init, Fill) else _ZERO.get(kind.element, text), kind.element
    )
    if value is None:
        raise OracleError(f"oracle: expected a known constant, but got {text}; skip the check")
    return Bounded(np.full(kind.shape, widened(value, kind.element)))


_ZERO = {"complex<f32>": "(0.0,0.0)", "complex<f64>": "(0.0,0.0)", "f8E8M0FNU": "1.0"}
"""What stands where nothing is read, for types without a plain zero."""


def unknown_type(element: str) -> OracleError:
    """There is no array of such elements."""
    return OracleError(f"oracle: expected a known element type, but got {element}; skip the check")


def evaluate_loops(op: Structured, tensors: Tensors) -> list[Bounded]:
    """The results of a structured op, one point of its reduction loops after another."""
    return _Loops(op, tensors).results()


class _Loops:
    def __init__(self, op: Structured, tensors: Tensors) -> None:
        self.op = op
        self.tensors = tensors
        self.tracks = tensors.errors is not None
        self.reduced = op.reduction_dims
        self.parallel = [d for d in range(len(op.domain)) if d not in self.reduced]
        self.sums = self.terms(_SUMS)
        self.extremes = self.terms(_EXTREMES)
        at_once = self._at_once() if self.sums or self.extremes else 0
        self.looped = self.reduced[: len(self.reduced) - at_once]
        self.blocked = self.reduced[len(self.looped) :]
        self.order = (*self.parallel, *self.looped, *self.blocked)
        sources = [self._read(t, m) for t, m in zip(op.sources, op.source_maps, strict=True)]
        self.starts = [start_of(op, i, tensors) for i in range(len(op.results))]
        self.sources = sources

    def terms(self, names: Container[str]) -> tuple[int, ...]:
        """For each result the value of the body that ops of such names fold; empty for others."""
        body, count = self.op.body, len(self.op.results)
        made = [body.op_of(y) for y in body.yields]
        if not self.reduced or not is_reassociable(body, count):
            return ()
        if any(m is None or m.name not in names for m in made):
            return ()
        first = len(body.arguments) - count
        return tuple(next(o for o in m.operands if o != first + i) for i, m in enumerate(made) if m)

    def _at_once(self) -> int:
        """How many of the last reduction loops run as one block."""
        points = math.prod(self.op.domain[d] for d in self.parallel)
        count = 0
        for d in reversed(self.reduced):
            points *= self.op.domain[d]
            if points > _BLOCK:
                break
            count += 1
        return count

    def _read(self, tensor: int, index_map: IndexMap) -> Bounded:
        found = self.tensors.read(tensor)
        error = found.error
        if error is not None:
            error = self._view(np.broadcast_to(error, found.value.shape), index_map)
        return Bounded(self._view(found.value, index_map), error)

    def _view(self, array: Array, index_map: IndexMap, writeable: bool = False) -> Array:
        return view_of(array, index_map, self.op.domain, writeable).transpose(self.order)

    def results(self) -> list[Bounded]:
        """All results, as their types hold them."""
        values = [start.value for start in self.starts]
        errors = [
            np.zeros(v.shape) if s.error is None else np.broadcast_to(s.error, v.shape).copy()
            for s, v in zip(self.starts, values, strict=True)
        ]
        first: tuple[Any, ...] = (..., *(0 for _ in self.reduced))
        maps = self.op.result_maps
        cells = [self._view(v, m, True)[first] for v, m in zip(values, maps, strict=True)]
        beside = [self._view(e, m, True)[first] for e, m in zip(errors, maps, strict=True)]
        if self.sums:
            self._add_up(cells, beside)
        elif self.extremes:
            self._choose(cells, beside)
        else:
            self._step(cells, beside)
        return [
            self.tensors.kept(r, Bounded(v, total(e) if self.tracks else None))
            for r, v, e in zip(self.op.results, values, errors, strict=True)
        ]

    def _points(self) -> Any:
        return itertools.product(*(range(self.op.domain[d]) for d in self.looped))

    def _arguments(self, point: tuple[int, ...]) -> list[Bounded]:
        place: tuple[Any, ...] = (*(slice(None) for _ in self.parallel), *point)
        return [
            Bounded(s.value[place], None if s.error is None else s.error[place])
            for s in self.sources
        ]

    def _step(self, cells: list[Array], beside: list[Array]) -> None:
        """One point after another, each from what the one before it left."""
        for point in self._points():
            held = [
                Bounded(c.copy(), total(e) if self.tracks else None)
                for c, e in zip(cells, beside, strict=True)
            ]
            made = self._run([*self._arguments(point), *held], point)
            for cell, error, y in zip(cells, beside, self.op.body.yields, strict=True):
                cell[...] = made[y].value
                if self.tracks:
                    error[...] = 0.0 if made[y].error is None else made[y].error

    def _add_up(self, cells: list[Array], beside: list[Array]) -> None:
        """All terms of each sum, in any order."""
        kinds = [self.tensors.types[r].element for r in self.op.results]
        shape = tuple(self.op.domain[d] for d in (*self.parallel, *self.blocked))
        over = tuple(range(len(self.parallel), len(shape)))
        nothing = [Bounded(np.zeros((), c.dtype)) for c in cells]
        sizes = [np.abs(c).astype(np.float64) for c in cells]
        quanta = [quantum_of(c) if rounds(k) else 0.0 for c, k in zip(cells, kinds, strict=True)]
        missing: list[Array | None] = [total(e) for e in beside]
        for point in self._points():
            made = self._run([*self._arguments(point), *nothing], point)
            for i, term in enumerate(self.sums):
                value = np.broadcast_to(made[term].value, shape)
                with np.errstate(all="ignore"):
                    cells[i][...] = cells[i] + value.sum(over)
                    if not (self.tracks and rounds(kinds[i])):
                        continue
                    sizes[i] = sizes[i] + np.abs(value).sum(over)
                quanta[i] = min(quanta[i], quantum_of(made[term].value))
                error = made[term].error
                if error is not None:
                    missing[i] = total(missing[i], np.broadcast_to(error, shape).sum(over))
        if self.tracks:
            count = math.prod(self.op.domain[d] for d in self.reduced)
            for i, kind in enumerate(kinds):
                found = sum_error(sizes[i], quanta[i], count, kind, missing[i])
                beside[i][...] = 0.0 if found is None else found

    def _choose(self, cells: list[Array], beside: list[Array]) -> None:
        """The largest or smallest term of each result, in any order: no term moves it further."""
        body = self.op.body
        shape = tuple(self.op.domain[d] for d in (*self.parallel, *self.blocked))
        over = tuple(range(len(self.parallel), len(shape)))
        nothing = [Bounded(np.zeros((), c.dtype)) for c in cells]
        named = [body.op_of(y) for y in body.yields]
        kinds = [op.type for op in named if op is not None]
        folds = [_EXTREMES[op.name] for op in named if op is not None]
        if self.tracks:
            for cell, error, kind in zip(cells, beside, kinds, strict=True):
                began = as_read(Bounded(cell, total(error)), kind).error
                error[...] = 0.0 if began is None else began
        for point in self._points():
            made = self._run([*self._arguments(point), *nothing], point)
            for i, term in enumerate(self.extremes):
                value = np.broadcast_to(made[term].value, shape)
                with np.errstate(all="ignore"):
                    cells[i][...] = folds[i](cells[i], folds[i].reduce(value, axis=over))
                if not self.tracks:
                    continue
                missing = as_read(made[term], kinds[i]).error
                if missing is not None:
                    worst = np.broadcast_to(missing, shape).max(over)
                    beside[i][...] = np.maximum(beside[i], worst)

    def _run(self, arguments: Sequence[Bounded], point: tuple[int, ...]) -> list[Bounded]:
        body = self.op.body
        values = list(arguments)
        accumulated = set(body.yields) if self.reduced else set()
        folded = bool(self.sums or self.extremes)
        for scalar in body.ops:
            if folded and len(values) in accumulated:
                values.append(Bounded(np.zeros(())))  # all points at once, and no one else reads it
                continue
            if scalar.name == "linalg.index":
                values.append(Bounded(self._position(int(scalar.attribute("dim")), point)))
                continue
            kinds = [body.type_of(o) for o in scalar.operands]
            operands = [values[o] for o in scalar.operands]
            wide = len(values) in accumulated
            values.append(scalar_result(scalar, kinds, operands, self.tracks, wide))
        return values

    def _position(self, loop: int, point: tuple[int, ...]) -> Array:
        if loop in self.looped:
            return np.asarray(point[self.looped.index(loop)], np.int64)
        inside = (*self.parallel, *self.blocked)
        axis = inside.index(loop)
        shape = [-1 if i == axis else 1 for i in range(len(inside))]
        return np.arange(self.op.domain[loop]).reshape(shape)


def view_of(
    array: Array, index_map: IndexMap, domain: tuple[int, ...], writeable: bool = False
) -> Array:
    """The array as read at every point of the domain: one axis per loop, stride 0 if unused."""
    strides = [0] * len(domain)
    offset: list[slice] = []
    for axis, form in enumerate(index_map):
        offset.append(slice(form.offset, None))
        for d, c in form.terms:
            strides[d] += c * array.strides[axis]
    place: tuple[Any, ...] = (..., *offset)  # without the dots, one element would be a copy
    start = array[place]
    shape = tuple(domain)
    return np.lib.stride_tricks.as_strided(start, shape, strides, writeable=writeable)
