"""Run a structured op over part of its loops: ``d -> start + step * d'``.

Operands are cut down to what the smaller loops read, so that their indexing maps stay plain where
they were plain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from layoutopt.ir.affine import Affine, IndexMap, affine
from layoutopt.ir.graph import FromTensor, GraphBuilder, Init, Pad, Slice, Structured
from layoutopt.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class Progression:
    """The points of one loop that are visited: ``start + step * i`` for i below ``size``."""

    start: int
    step: int
    size: int


@dataclass(frozen=True, slots=True)
class Replacement:
    """A tensor that is read in place of an input, by a map over the new loops."""

    tensor: int
    forms: IndexMap
    padding: str | None = None
    """The value that lies around it, if any."""


class Rewriting:
    """New tensors and ops behind those of a graph."""

    def __init__(self, types: tuple[TensorType, ...]) -> None:
        """``types``: of the tensors that are there already."""
        self._given = types
        self.builder = GraphBuilder(len(types))

    def type_of(self, tensor: int) -> TensorType:
        """The type of an old or a new tensor."""
        old = len(self._given)
        return self._given[tensor] if tensor < old else self.builder.types[tensor - old]

    def tensor(self, shape: tuple[int, ...], element: str) -> int:
        """A new tensor."""
        return self.builder.tensor(shape, element)


def on_progressions(form: Affine, loops: Mapping[int, Progression]) -> Affine:
    """The linear form over the new loops."""
    terms: list[tuple[int, int]] = []
    offset = form.offset
    for d, c in form.terms:
        loop = loops.get(d)
        terms.append((d, c if loop is None else c * loop.step))
        offset += 0 if loop is None else c * loop.start
    return affine(terms, offset)


def restricted(
    op: Structured,
    loops: Mapping[int, Progression],
    rewriting: Rewriting,
    result: int | None = None,
    replaced: Mapping[int, Replacement] | None = None,
    composed: bool = False,
) -> int:
    """Add the op over fewer points; hands back the tensor of its result.

    The op has one result, and every loop of ``loops`` that is parallel is a plain dim of it.
    ``replaced``: what is read in place of some inputs (by position). ``composed``: read inputs
    where they lie, with strides in the maps, in place of slices, where linalg has maps for that.
    """
    domain = tuple(loops[d].size if d in loops else n for d, n in enumerate(op.domain))
    sources, maps = [], []
    given = {
        p: Replacement(t, tuple(on_progressions(f, loops) for f in m))
        for p, (t, m) in enumerate(zip(op.sources, op.source_maps, strict=True))
    }
    for operand in (given | dict(replaced or {})).values():
        shape = rewriting.type_of(operand.tensor).shape
        in_place = _in_place(operand.forms, shape, domain) if composed else None
        if in_place is None:
            read = _cut(operand.tensor, operand.forms, domain, rewriting, operand.padding)
        else:
            read = (operand.tensor, in_place)
        sources.append(read[0])
        maps.append(read[1])
    kind = rewriting.type_of(op.results[0])
    written = tuple(on_progressions(f, loops) for f in op.result_maps[0])
    init: Init = op.inits[0]
    if isinstance(init, FromTensor):
        start, _ = _cut(init.tensor, written, domain, rewriting, None)
        init = FromTensor(start)
    if result is None:
        shape = tuple(
            n if not f.dims else domain[f.dims[0]]
            for f, n in zip(op.result_maps[0], kind.shape, strict=True)
        )
        result = rewriting.tensor(shape, kind.element)
    plain = tuple(affine([(f.dims[0], 1)]) if f.dims else f for f in op.result_maps[0])
    rewriting.builder.add(
        replace(
            op,
            sources=tuple(sources),
            inits=(init,),
            results=(result,),
            domain=domain,
            maps=(*maps, plain),
        )
    )
    return result


def _in_place(forms: IndexMap, shape: tuple[int, ...], domain: tuple[int, ...]) -> IndexMap | None:
    """The maps that read part of a whole operand; None where there are none.

    Linalg takes the size of a loop from a dim that it reads plainly, so none may be longer.
    """
    found: list[Affine] = []
    for form, n in zip(forms, shape, strict=True):
        d = form.plain_dim
        if d is None or domain[d] == n:
            found.append(form)
        elif domain[d] == 1:
            found.append(affine([]))
        else:
            return None
    return tuple(found)


def _cut(
    tensor: int,
    forms: IndexMap,
    domain: tuple[int, ...],
    rewriting: Rewriting,
    padding: str | None,
) -> tuple[int, IndexMap]:
    """The part of an operand that is read, and where each form reads it there."""
    kind = rewriting.type_of(tensor)
    rank = len(kind.shape)
    offsets, strides, sizes = [0] * rank, [1] * rank, list(kind.shape)
    low, high = [0] * rank, [0] * rank
    found: list[Affine] = []
    for axis, form in enumerate(forms):
        if not form.terms:
            found.append(form)
            continue
        first = form.offset + sum(min(0, c * (domain[d] - 1)) for d, c in form.terms)
        last = form.offset + sum(max(0, c * (domain[d] - 1)) for d, c in form.terms)
        live = [(d, c) for d, c in form.terms if domain[d] > 1]
        step = math.gcd(*(c for _, c in live)) if live else 1
        low[axis], high[axis] = max(0, -first), max(0, last - kind.shape[axis] + 1)
        end = last
        if step == 1 and len(live) > 1 and first <= 0 and not high[axis]:
            end = kind.shape[axis] - 1  # elements behind the last window stay: they cost nothing
        step = step if not (low[axis] or high[axis]) else 1
        offsets[axis], strides[axis] = max(0, first), step
        inside = min(end, kind.shape[axis] - 1) - offsets[axis]
        sizes[axis] = inside // step + 1
        still = [(d, c // step if domain[d] > 1 else 1) for d, c in form.terms]
        shift = -sum(min(0, c * (domain[d] - 1)) for d, c in still)
        found.append(affine(still, shift))
    if tuple(sizes) != kind.shape:
        part = rewriting.tensor(tuple(sizes), kind.element)
        rewriting.builder.add(Slice(tensor, part, tuple(offsets), tuple(strides)))
        tensor = part
    if any(low) or any(high):
        assert padding is not None, "only what lies in zeros is read outside"
        shape = tuple(a + n + b for a, n, b in zip(low, sizes, high, strict=True))
        wide = rewriting.tensor(shape, kind.element)
        rewriting.builder.add(Pad(tensor, wide, tuple(low), tuple(high), padding))
        tensor = wide
    return tensor, tuple(found)
