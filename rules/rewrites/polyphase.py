"""Contractions of an interior-padded operand, phase by phase: only products that are not zero.

An operand that is read at ``c*i + e*k + b`` along a dim interior-padded with stride s from offset o
has an element there only where ``c*i + e*k + b - o`` is a multiple of s. For i = p (mod s / gcd(c,
s)), a phase, the k that qualify are one arithmetic progression; so each phase is a contraction of
its own over the unpadded tensor. A constant index is that of one element, or of the background. All
else multiplies zeros. Assumes no Inf or NaN in the other operand: 0 * x = 0.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from layoutopt.ir.affine import Affine, affine
from layoutopt.ir.graph import Fill, FromTensor, Graph, Insert, Scatter, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites.interior_padding import (
    InteriorPadding,
    interior_padding,
    is_zero,
    typed,
)
from layoutopt.rules.rewrites.loops import Progression, Replacement, Rewriting, restricted
from layoutopt.rules.rewrites.shared_pad import PadRead, padded_once
from layoutopt.rules.rule import Expression, over_budget

_PHASES = 64
"""Phases at most: each is a contraction with clusters, candidates and prices of its own."""


class Reading(Enum):
    """How a contraction reads the interior-padded dims of its operand."""

    PARALLEL = "parallel"
    REDUCTION = "reduction"
    WINDOW = "window"


@dataclass(frozen=True, slots=True)
class InteriorPaddedContraction:
    """A contraction whose operand ``position`` is interior-padded."""

    op: Structured
    position: int
    interior_padding: InteriorPadding
    element: str
    source_shape: tuple[int, ...]
    reading: Reading
    refusal: str | None


@dataclass(frozen=True, slots=True)
class _Phase:
    loops: Mapping[int, Progression]
    form: Affine


def interior_padded_contraction(graph: Graph, index: int) -> InteriorPaddedContraction | None:
    """The facts about op ``index``, None where it contracts no interior-padded operand."""
    op = graph.ops[index]
    if not isinstance(op, Structured) or not op.is_contraction or op.body.reads_index:
        return None
    for position, tensor in enumerate(op.sources):
        found = interior_padding(graph, tensor)
        if found is None:
            continue
        strided = [d for d, s in enumerate(found.strides) if s > 1]
        forms = op.source_maps[position]
        return InteriorPaddedContraction(
            op,
            position,
            found,
            graph.types[tensor].element,
            graph.types[found.source].shape,
            _reading(op, [forms[d] for d in strided]),
            _irregular(op, position),
        )
    return None


def _reading(op: Structured, forms: list[Affine]) -> Reading:
    reduced = op.reduction_dims
    found = Reading.REDUCTION
    for form in forms:
        moving = any(d not in reduced for d in form.dims)
        summed = any(d in reduced and op.domain[d] > 1 for d in form.dims)
        if moving and summed:
            return Reading.WINDOW
        if moving:
            found = Reading.PARALLEL
    return found


def _irregular(op: Structured, position: int) -> str | None:
    """Why the indexing maps are not those of a contraction or convolution."""
    reduced = op.reduction_dims
    seen: set[int] = set()
    for axis, form in enumerate(op.source_maps[position]):
        summed = [d for d in form.dims if d in reduced]
        if len(summed) > 1 or len(form.dims) - len(summed) > 1 or seen & {*form.dims}:
            return (
                "expected one image loop and one filter loop at most along each dim, "
                f"but dim {axis} is '{form}'"
            )
        if any(c < 1 for _, c in form.terms):
            return f"expected dims that are read forwards, but dim {axis} is '{form}'"
        seen.update(form.dims)
    for form in op.result_maps[0]:
        if form.terms and form.plain_dim is None:
            return f"expected results at a plain place, but one dim is '{form}'"
    return None


def refusal_of(match: InteriorPaddedContraction) -> Refusal | None:
    """Why the contraction cannot be taken apart."""
    background = match.interior_padding.background
    if background is None:
        return Refusal("expected a zero background, but got a tensor that is computed")
    if not is_zero(background, match.element):
        return Refusal(f"expected a zero background, but got {background}")
    if match.refusal is not None:
        return Refusal(match.refusal)
    if not isinstance(match.op.inits[0], Fill | FromTensor):
        return Refusal("expected a contraction with an init, but it has none")
    count = len(list(itertools.product(*_phases(match))))
    if not count:
        return Refusal("expected some phase with products, but got none")
    return over_budget(count, _PHASES, "phases", "contractions in place of one")


def by_phases(graph: Graph, match: InteriorPaddedContraction) -> Expression:
    """One contraction per phase, and a scatter of their results."""
    rewriting = Rewriting(graph.types)
    op = match.op
    axes = _phases(match)
    result = op.results[0]
    shape = graph.types[result].shape
    zero = typed(match.interior_padding.background or "", match.element)
    chosen = list(itertools.product(*axes))
    whole = len(chosen) == 1 and all(
        loop.step == 1 and loop.size == op.domain[d]
        for phase in chosen[0]
        for d, loop in phase.loops.items()
        if d not in op.reduction_dims
    )
    pieces: list[int] = []
    offsets: list[tuple[int, ...]] = []
    strides: tuple[int, ...] = (1,) * len(shape)
    over = [{d: loop for p in phases for d, loop in p.loops.items()} for phases in chosen]
    reads = [
        PadRead(
            match.interior_padding.source,
            tuple(phase.form for phase in phases),
            tuple(loops[d].size if d in loops else n for d, n in enumerate(op.domain)),
        )
        for phases, loops in zip(chosen, over, strict=True)
    ]
    for loops, read in zip(over, padded_once(reads, rewriting, zero), strict=True):
        replaced = {match.position: Replacement(read.tensor, read.forms, zero)}
        pieces.append(restricted(op, loops, rewriting, result if whole else None, replaced))
        at = [loops.get(f.dims[0]) if f.dims else None for f in op.result_maps[0]]
        offsets.append(tuple(0 if loop is None else loop.start for loop in at))
        strides = tuple(1 if loop is None else loop.step for loop in at)
    if not whole:
        _scatter(rewriting, op, pieces, offsets, strides)
    return Expression(tuple(rewriting.builder.types), tuple(rewriting.builder.ops))


def _scatter(
    rewriting: Rewriting,
    op: Structured,
    pieces: list[int],
    offsets: list[tuple[int, ...]],
    strides: tuple[int, ...],
) -> None:
    result, init = op.results[0], op.inits[0]
    kind = rewriting.type_of(result)
    if isinstance(init, Fill):
        full = sum(rewriting.type_of(p).elements for p in pieces) == kind.elements
        background = None if full else typed(init.value, kind.element)
        rewriting.builder.add(Scatter(tuple(pieces), result, tuple(offsets), strides, background))
        return
    assert isinstance(init, FromTensor)
    into = init.tensor
    for i, (piece, offset) in enumerate(zip(pieces, offsets, strict=True)):
        last = i == len(pieces) - 1
        after = result if last else rewriting.tensor(kind.shape, kind.element)
        rewriting.builder.add(Insert(piece, into, after, offset, strides))
        into = after


def _phases(match: InteriorPaddedContraction) -> list[list[_Phase]]:
    """For each dim of the interior-padded operand, its phases that have products."""
    op, padding = match.op, match.interior_padding
    found = []
    for axis, form in enumerate(op.source_maps[match.position]):
        whole = match.source_shape[axis]
        place = padding.offsets[axis], padding.strides[axis], whole
        found.append(_phases_of(op, form, *place) if form.terms else _element(form, *place))
    return found


def _element(form: Affine, offset: int, stride: int, size: int) -> list[_Phase]:
    """The element of the source at a constant index; none where that is background."""
    at, rest = divmod(form.offset - offset, stride)
    return [_Phase({}, affine([], at))] if not rest and 0 <= at < size else []


def _phases_of(op: Structured, form: Affine, offset: int, stride: int, size: int) -> list[_Phase]:
    reduced = op.reduction_dims
    image = next((d for d in form.dims if d not in reduced), None)
    inside = next((d for d in form.dims if d in reduced), None)
    c = form.coefficient(image) if image is not None else 0
    e = form.coefficient(inside) if inside is not None else 0
    images = op.domain[image] if image is not None else 1
    filters = op.domain[inside] if inside is not None else 1
    period = stride // math.gcd(c, stride) if image is not None else 1
    found = []
    for p in range(min(period, images)):
        taps = _taps((offset - form.offset - c * p) % stride, e, stride, filters)
        if taps is None:
            continue
        at = (c * p + e * taps.start + form.offset - offset) // stride
        outer = Progression(p, period, -(-(images - p) // period))
        phase = _trimmed(outer, taps, c * period // stride, e * taps.step // stride, at, size)
        if phase is None:
            continue
        outer, taps, at = phase
        loops: dict[int, Progression] = {}
        terms: list[tuple[int, int]] = []
        if image is not None:
            loops[image] = outer
            terms.append((image, c * period // stride))
        if inside is not None:
            loops[inside] = taps
            terms.append((inside, max(1, e * taps.step // stride)))
        found.append(_Phase(loops, affine(terms, at)))
    return found


def _taps(rest: int, e: int, stride: int, filters: int) -> Progression | None:
    """The k below ``filters`` with ``e * k = rest`` modulo the stride."""
    g = math.gcd(e, stride)
    if rest % g:
        return None
    step = stride // g
    first = (rest // g * pow(e // g, -1, step)) % step if step > 1 else 0
    if first >= filters:
        return None
    return Progression(first, step, -(-(filters - first) // step))


def _trimmed(
    outer: Progression, taps: Progression, c: int, e: int, at: int, size: int
) -> tuple[Progression, Progression, int] | None:
    """Leave out taps that are outside for every i, then, with one tap, each i that is outside."""
    first, last = 0, taps.size - 1
    if e:
        first = max(first, -((at + c * (outer.size - 1)) // e))
        last = min(last, (size - 1 - at) // e)
    if first > last:
        return None
    taps = Progression(taps.start + taps.step * first, taps.step, last - first + 1)
    at += e * first
    low, high = 0, outer.size - 1
    if taps.size == 1 and c:
        low, high = max(low, -(at // c)), min(high, (size - 1 - at) // c)
    if low > high or (taps.size == 1 and not 0 <= at + c * low < size):
        return None
    outer = replace(outer, start=outer.start + outer.step * low, size=high - low + 1)
    return outer, taps, at + c * low
