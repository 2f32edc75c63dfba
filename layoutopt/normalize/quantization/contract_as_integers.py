"""Contractions of quantized tensors as plain contractions of integers, corrected behind.

    sum((a - za) * (b - zb))   ->   sum(a * b) - zb * sum(a) - za * sum(b) + n * za * zb

The contraction inside is one like every other: it can be packed, tiled and given any layout; the
sums cost one operand's reading, those over weights nothing at run time, and a zero point of zero
takes its terms away. This holds for any plain sum over the same loops: grouped, depthwise and
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
from dataclasses import dataclass

from layoutopt.ir.affine import loops_with_a_size, plain_dims
from layoutopt.ir.graph import Fill, Graph, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.size import Size
from layoutopt.ir.types import is_float
from layoutopt.normalize.quantization.example import quantized_example
from layoutopt.normalize.quantization.quantized import SHIFT, Quantized
from layoutopt.normalize.quantization.recognizer import Recognizer
from layoutopt.normalize.quantization.zero_points import SUM, Factor, Product, write_corrected
from layoutopt.rules.rewrites.interior_padding import is_zero
from layoutopt.rules.rewrites.loops import Rewriting
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression

_SUM_BITS = 32
_LARGEST = 1 << (_SUM_BITS - 1)


@dataclass(frozen=True, slots=True)
class QuantizedProduct:
    """A sum of products of quantized numbers, and how large these may be."""

    index: int
    product: Product
    bounds: tuple[int | None, int | None]
    """The largest magnitude of each factor's integers less their zero point, where it is known."""


class ContractAsIntegers:
    """A quantized contraction as one of integers."""

    name = "contract-as-integers"
    summary = "contraction of quantized tensors -> contraction of integers + sums + correction"
    argument = "the product of the differences, multiplied out; integers modulo 2^32 are a ring"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.APPROXIMATES
    part = "zero"
    examples = (
        Example(quantized_example(along=1), 0),
        Example(
            quantized_example(along=2),
            0,
            refusal="expected zero points and scales that stay the same along the sum, but one is "
            "read by loop 2, which is summed over",
        ),
    )

    def match(self, graph: Graph, op: int) -> QuantizedProduct | None:
        """A sum of products of quantized numbers that is not a contraction of integers already."""
        rewriting = Rewriting(graph.types)
        found = _product(graph, op, rewriting)
        if found is None or _is_plain(found):
            return None
        lhs, rhs = (_bound(f.quantized, rewriting) for f in found.factors)
        return QuantizedProduct(op, found, (lhs, rhs))

    def guard(self, match: QuantizedProduct) -> Refusal | None:
        """Zero points and scales stay the same along the sum, and no sum leaves its type."""
        return _odd_loops(match.product) or _narrow(match) or _odd_sum(match)

    def exactness_of(self, match: QuantizedProduct) -> Exactness:
        """Integers are equal to the last bit."""
        floats = is_float(match.product.op.body.arguments[-1])
        return Exactness.APPROXIMATES if floats else Exactness.BIT_EXACT

    def rewrite(self, graph: Graph, match: QuantizedProduct) -> Expression:
        """What its integers take, the contraction, the sums and the correction."""
        rewriting = Rewriting(graph.types)
        found = _product(graph, match.index, rewriting)
        assert found is not None
        write_corrected(rewriting, found, {})
        return Expression(tuple(rewriting.builder.types), tuple(rewriting.builder.ops))


def _product(graph: Graph, index: int, rewriting: Rewriting) -> Product | None:
    """The factors where an op is a sum of products of quantized numbers, else None."""
    op = graph.ops[index]
    if not isinstance(op, Structured) or not op.reduction_dims:
        return None
    if len(op.results) != 1 or op.body.reads_index:
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
    recognizer = Recognizer(graph, rewriting)
    factors = [recognizer.value(op, v) for v in product.operands]
    lhs, rhs = (None if f is None else Factor(f[0], op.source_maps[f[1]]) for f in factors)
    return None if lhs is None or rhs is None else Product(op, lhs, rhs)


def _is_plain(match: Product) -> bool:
    """Whether the op is a contraction of signed integers already."""
    read = tuple(f.quantized.integers for f in match.factors)
    return match.op.is_contraction and set(match.op.sources) == {*read}


def _odd_loops(match: Product) -> Refusal | None:
    """Loops, and zero points and scales along them."""
    op = match.op
    sized = loops_with_a_size((match.lhs.map, match.rhs.map, *op.result_maps))
    lost = next((d for d in range(len(op.domain)) if d not in sized), None)
    if lost is not None:
        return Refusal(
            "expected every loop to be one dim of a factor or of the result, for linalg takes its "
            f"size from there, but loop {lost} is not"
        )
    written = plain_dims(op.result_maps[0])
    parallel = {d for d in range(len(op.domain)) if d not in op.reduction_dims}
    if written is None or {*written} != parallel:
        return Refusal("expected each dim of the result to be one parallel loop, but one is not")
    for factor in match.factors:
        read = {d for form in factor.map for d in form.dims}
        repeated = (d for d in op.reduction_dims if d not in read)
        times = next((op.domain[d] for d in repeated if isinstance(op.domain[d], Size)), None)
        if times is not None:
            return Refusal(
                "expected a number of times that a factor counts where it is the same along a "
                f"sum, but got {times}"
            )
        for form in (f for m in factor.quantized.parameter_maps for f in m):
            if not form.terms and not form.offset:
                continue
            if form.plain_dim is None:
                return Refusal(
                    "expected zero points and scales that are read by plain loops, but one is "
                    f"read by {form}"
                )
            if form.plain_dim not in parallel:
                return Refusal(
                    "expected zero points and scales that stay the same along the sum, but one "
                    f"is read by loop {form.plain_dim}, which is summed over"
                )
    return None


def _narrow(match: QuantizedProduct) -> Refusal | None:
    """The types of the factors."""
    element = match.product.op.body.arguments[-1]
    for factor, bound in zip(match.product.factors, match.bounds, strict=True):
        found = factor.quantized
        if found.element != element:
            return Refusal(f"expected factors of the sum's type {element}, but got {found.element}")
        bits = found.narrowest
        if bits is not None and bits < _SUM_BITS and (bound is None or bound >= 1 << (bits - 1)):
            return Refusal(
                f"expected i{bits} to hold every number less its zero point, but it may wrap around"
            )
    return None


def _odd_sum(match: QuantizedProduct) -> Refusal | None:
    """What is added up, and from where on."""
    op = match.product.op
    element = op.body.arguments[-1]
    if element == SUM:
        return None
    if element not in ("i64", "f32"):
        return Refusal(f"expected a sum in {SUM}, i64 or f32, but got {element}")
    init = op.inits[0]
    if not isinstance(init, Fill) or not is_zero(init.value, element):
        return Refusal("expected a sum with init zero, but its init is another value")
    terms = math.prod(op.domain[d] for d in op.reduction_dims)
    lhs, rhs = match.bounds
    if lhs is None or rhs is None or terms * lhs * rhs >= _LARGEST:
        return Refusal(f"expected {SUM} to hold the sum, but {terms} products may be too many")
    return None


def _bound(quantized: Quantized, rewriting: Rewriting) -> int | None:
    """The largest magnitude of an integer less its zero point."""
    zero = quantized.zero.largest(rewriting.type_of)
    return None if zero is None else zero + SHIFT
