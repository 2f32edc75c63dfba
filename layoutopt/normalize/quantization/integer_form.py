"""Contractions of quantized tensors as plain contractions of integers, corrected behind.

    sum((a - za) * (b - zb))   ->   sum(a * b) - zb * sum(a) - za * sum(b) + n * za * zb

The contraction inside is one like every other: it can be packed, tiled and given any layout; the
sums cost one operand's reading, those over weights nothing at run time, and a zero point of zero
takes its terms away. Whatever is a plain sum over the same loops holds: grouped, depthwise and
strided convolutions too. What lies around an image has to be its zero point, since that is what
the difference makes a zero of; see `layoutopt.normalize.quantization.recognizer` for pads.

On integers the two sides are equal to the last bit, for arithmetic modulo 2^32 is a ring; where the
difference is taken in another type, it is guarded that no sum leaves 32 bits. A contraction of
floats that were dequantized is equal up to rounding: its scales, assumed to be no Inf or NaN, are
the same for all terms of a sum, and the sum of the integers is exact. IREE 3.13 does both by itself
(``quantized-conv-to-conv`` and ``convert-qdq-to-integer-math``, on by default), too late for a
layout to be chosen.
"""

from __future__ import annotations

import math
from dataclasses import replace

from layoutopt.ir.affine import loops_with_a_size, plain_dims
from layoutopt.ir.graph import Constant, Fill, Graph, Op, Opaque, Structured
from layoutopt.ir.types import is_float
from layoutopt.normalize.quantization.quantized import SHIFT, Quantized
from layoutopt.normalize.quantization.recognizer import Recognizer
from layoutopt.normalize.quantization.zero_points import SUM, Factor, Product, Sums, write_corrected
from layoutopt.rules.rewrites.interior_padding import is_zero
from layoutopt.rules.rewrites.loops import Rewriting

_SUM_BITS = 32
_LARGEST = 1 << (_SUM_BITS - 1)


def with_integer_contractions(graph: Graph, floats: bool = True) -> Graph:
    """The same graph where quantized tensors are contracted as integers.

    ``floats``: also where they were dequantized, which rounds in other places.
    """
    rewriting = Rewriting(graph.types)
    recognizer = Recognizer(graph, rewriting)
    sums: Sums = {}
    ops: list[Op] = []
    names: list[str] = []
    changed = False
    for index, op in enumerate(graph.ops):
        name = graph.name_of(index)
        before = len(rewriting.builder.ops)
        found = _match(recognizer, op, floats) if isinstance(op, Structured) else None
        if found is not None:
            changed = True
            write_corrected(rewriting, found, sums)
        made = [*rewriting.builder.ops[before:], *([op] if found is None else [])]
        ops += made
        names += [name if o is op or _is_contraction(o) else f"{name}.zero" for o in made]
    if not changed:
        return graph
    whole = replace(
        graph, types=(*graph.types, *rewriting.builder.types), ops=tuple(ops), names=tuple(names)
    )
    return _without_dead(whole)


def _is_contraction(op: Op) -> bool:
    return isinstance(op, Structured) and op.is_contraction


def _without_dead(graph: Graph) -> Graph:
    """The graph without ops whose results nobody reads any more."""
    needed = set(graph.outputs)
    keep: list[int] = []
    for index in reversed(range(len(graph.ops))):
        op = graph.ops[index]
        if isinstance(op, Opaque | Constant) or not needed.isdisjoint(op.outputs):
            keep.append(index)
            needed.update(op.inputs)
    keep.reverse()
    return replace(
        graph,
        ops=tuple(graph.ops[i] for i in keep),
        names=tuple(graph.names[i] for i in keep),
    )


def _match(recognizer: Recognizer, op: Structured, floats: bool) -> Product | None:
    """The factors where an op is a sum of products of quantized numbers, else None."""
    if not op.reduction_dims or len(op.results) != 1 or op.body.reads_index:
        return None
    if is_float(op.body.arguments[-1]) and not floats:
        return None
    add = op.body.op_of(op.body.yields[0])
    accumulator = len(op.sources)
    if add is None or add.name not in ("arith.addi", "arith.addf"):
        return None
    if add.operands.count(accumulator) != 1:
        return None
    product = op.body.op_of(next(v for v in add.operands if v != accumulator))
    if product is None or product.name not in ("arith.muli", "arith.mulf"):
        return None
    if sum(accumulator in o.operands for o in op.body.ops) != 1:
        return None
    factors = [recognizer.value(op, v) for v in product.operands]
    lhs, rhs = (None if f is None else Factor(f[0], op.source_maps[f[1]]) for f in factors)
    if lhs is None or rhs is None:
        return None
    found = Product(op, lhs, rhs)
    return found if _is_sound(found, recognizer.rewriting) and not _is_plain(found) else None


def _is_plain(match: Product) -> bool:
    """Whether the op is a contraction of signed integers already."""
    read = tuple(f.quantized.integers for f in match.factors)
    return match.op.is_contraction and set(match.op.sources) == {*read}


def _is_sound(match: Product, rewriting: Rewriting) -> bool:
    """Whether zero points and scales stay the same along the sum, and no sum leaves its type."""
    op = match.op
    sized = loops_with_a_size((match.lhs.map, match.rhs.map, *op.result_maps))
    if len(sized) < len(op.domain):
        return False
    written = plain_dims(op.result_maps[0])
    parallel = {d for d in range(len(op.domain)) if d not in op.reduction_dims}
    if written is None or {*written} != parallel:
        return False
    for factor in match.factors:
        forms = [f for m in factor.quantized.parameter_maps for f in m if f.terms or f.offset]
        if any(f.plain_dim is None or f.plain_dim not in parallel for f in forms):
            return False
    element = op.body.arguments[-1]
    if any(f.quantized.element != element for f in match.factors):
        return False
    bounds = [_bound(f.quantized, rewriting) for f in match.factors]
    for factor, bound in zip(match.factors, bounds, strict=True):
        bits = factor.quantized.narrowest
        if bits is not None and bits < _SUM_BITS and (bound is None or bound >= 1 << (bits - 1)):
            return False
    if element == SUM:
        return True
    init = op.inits[0]
    if element not in ("i64", "f32") or not isinstance(init, Fill):
        return False
    terms = math.prod(op.domain[d] for d in op.reduction_dims)
    lhs, rhs = bounds
    small = lhs is not None and rhs is not None and terms * lhs * rhs < _LARGEST
    return small and is_zero(init.value, element)


def _bound(quantized: Quantized, rewriting: Rewriting) -> int | None:
    """The largest magnitude of an integer less its zero point."""
    zero = quantized.zero.largest(rewriting.type_of)
    return None if zero is None else zero + SHIFT
