"""The contraction of integers behind a sum of products of quantized numbers, and its correction.

    sum((a - za) * (b - zb)) * scale
      ->
    (sum(a * b) - zb * sum(a) - za * sum(b) + n * za * zb) * scale

Written as a contraction, a sum for each zero point that there is, and one elementwise op. Where n
is known at run time only, it is sum(a + 1) - sum(a): of a sum of ones IREE 3.13 makes a single one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from layoutopt.ir.affine import IndexMap, plain_map
from layoutopt.ir.graph import Fill, IteratorType, Structured, Uninitialized
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body, fill_body
from layoutopt.ir.size import Size
from layoutopt.normalize.quantization.quantized import INTEGER, Quantized, Zero
from layoutopt.rules.rewrites.loops import Rewriting

SUM = "i32"
"""What integers are summed in."""
_HALF = 1 << 31
Sums = dict[tuple[object, ...], int]
"""Sums that are there already: of which tensor, over which loops."""


@dataclass(frozen=True, slots=True)
class Factor:
    """A quantized operand over the loops of a contraction."""

    quantized: Quantized
    map: IndexMap


@dataclass(frozen=True, slots=True)
class Product:
    """A sum of products of quantized numbers."""

    op: Structured
    lhs: Factor
    rhs: Factor

    @property
    def factors(self) -> tuple[Factor, Factor]:
        """Both operands."""
        return (self.lhs, self.rhs)


def write_corrected(rewriting: Rewriting, product: Product, sums: Sums) -> None:
    """Add the contraction of the integers, the sums, and what corrects the one by the others."""
    _Writer(rewriting, product, sums).write()


@dataclass
class _Writer:
    rewriting: Rewriting
    match: Product
    sums: Sums

    def write(self) -> None:
        """Add all ops; the last one makes the result."""
        op = self.match.op
        lhs, rhs = (f.quantized for f in self.match.factors)
        exact = op.body.arguments[-1] == SUM
        kind = self.rewriting.type_of(op.results[0])
        bare = exact and lhs.zero.absent and rhs.zero.absent
        result = op.results[0] if bare else self.rewriting.tensor(kind.shape, SUM)
        self.rewriting.builder.add(
            replace(
                op,
                sources=(lhs.integers, rhs.integers),
                inits=op.inits if exact else (Fill(f"0 : {SUM}"),),
                results=(result,),
                maps=(self.match.lhs.map, self.match.rhs.map, op.result_maps[0]),
                body=contraction_body(INTEGER, INTEGER, SUM),
            )
        )
        if not bare:
            self.rewriting.builder.add(_Correction(self, result).op())

    def sum_of(self, factor: Factor, plus: int = 0) -> tuple[int, IndexMap, int]:
        """The sums of a factor: the tensor, where it is read, and how often each term counts.

        ``plus``: what is added to each element.
        """
        op = self.match.op
        read = {d for form in factor.map for d in form.dims}
        kept = [d for d in range(len(op.domain)) if d in read and d not in op.reduction_dims]
        summed = [d for d in op.reduction_dims if d in read]
        times = math.prod(op.domain[d] for d in op.reduction_dims if d not in read)
        loops = {d: i for i, d in enumerate((*kept, *summed))}
        domain = tuple(op.domain[d] for d in loops)
        read_by = tuple(f.renamed(loops) for f in factor.map)
        tensor, held = factor.quantized.integers, len(kept)
        key = (tensor, read_by, domain, held, plus)
        if key not in self.sums:
            self.sums[key] = self._sum(tensor, read_by, domain, held, plus)
        return self.sums[key], plain_map(kept), times

    def _sum(
        self, tensor: int, read_by: IndexMap, domain: tuple[int, ...], kept: int, plus: int
    ) -> int:
        """Loops that slide along the tensor are spelled by a tensor that is not read."""
        rewriting = self.rewriting
        plain = {form.plain_dim for form in read_by}
        sliding = tuple(d for d in range(kept, len(domain)) if d not in plain)
        made = rewriting.tensor(domain[:kept], SUM)
        sources, maps, arguments = [tensor], [read_by], [INTEGER]
        if sliding:
            sources.append(self._window(tuple(domain[d] for d in sliding)))
            maps.append(plain_map(sliding))
            arguments.append(INTEGER)
        count = len(sources)
        ops = [ScalarOp("arith.extsi", (0,), SUM)]
        if plus:
            ops.append(ScalarOp("arith.constant", (), SUM, (("value", f"{plus} : {SUM}"),)))
            ops.append(ScalarOp("arith.addi", (count + 1, count + 2), SUM))
        ops.append(ScalarOp("arith.addi", (count, count + len(ops)), SUM))
        loops = [IteratorType.PARALLEL] * kept
        rewriting.builder.add(
            Structured(
                tuple(sources),
                (Fill(f"0 : {SUM}"),),
                (made,),
                domain,
                (*loops, *[IteratorType.REDUCTION] * (len(domain) - kept)),
                (*maps, plain_map(range(kept))),
                Body((*arguments, SUM), tuple(ops), (count + len(ops),)),
            )
        )
        return made

    def _window(self, shape: tuple[int, ...]) -> int:
        made = self.rewriting.tensor(shape, INTEGER)
        rank = len(shape)
        self.rewriting.builder.add(
            Structured(
                (),
                (Uninitialized(),),
                (made,),
                shape,
                (IteratorType.PARALLEL,) * rank,
                (plain_map(range(rank)),),
                fill_body(f"0 : {INTEGER}", INTEGER),
            )
        )
        return made


class _Correction:
    """The elementwise op that makes the result of a contraction of integers."""

    def __init__(self, writer: _Writer, product: int) -> None:
        self.writer, self.match = writer, writer.match
        op = self.match.op
        self.loops = [form.dims[0] for form in op.result_maps[0]]
        self.sources, self.maps = [product], [op.result_maps[0]]
        self.steps: list[ScalarOp] = []
        """Operands below zero are inputs, the others are steps."""

    def op(self) -> Structured:
        """The whole op, over the dims of the result."""
        value = self._corrected()
        element = self.match.op.body.arguments[-1]
        if element == "i64":
            value = self._step("arith.extsi", (value,), element)
        elif element != SUM:
            value = self._step("arith.sitofp", (value,), element)
            for factor in self.match.factors:
                for scale in factor.quantized.scales:
                    if scale.tensor is None:
                        other = self._constant(scale.value or "", element)
                    else:
                        other = self._input(scale.tensor, scale.map)
                    value = self._step("arith.mulf", (value, other), element)
        result = self.match.op.results[0]
        place = {d: i for i, d in enumerate(self.loops)}
        maps = tuple(tuple(f.renamed(place) for f in m) for m in self.maps)
        first = len(self.sources) + 1
        steps = tuple(
            replace(s, operands=tuple(-1 - v if v < 0 else first + v for v in s.operands))
            for s in self.steps
        )
        arguments = (*(self.writer.rewriting.type_of(t).element for t in self.sources), element)
        return Structured(
            tuple(self.sources),
            (Uninitialized(),),
            (result,),
            self.writer.rewriting.type_of(result).shape,
            (IteratorType.PARALLEL,) * len(self.loops),
            (*maps, plain_map(range(len(self.loops)))),
            Body(arguments, steps, (first + value,)),
        )

    def _corrected(self) -> int:
        """The product less zero points times sums, plus the product of the zero points."""
        lhs, rhs = self.match.factors
        value = -1
        for factor, other in ((lhs, rhs), (rhs, lhs)):
            if other.quantized.zero.absent:
                continue
            tensor, index_map, times = self.writer.sum_of(factor)
            term = self._times(self._input(tensor, index_map), times)
            term = self._step("arith.muli", (term, self._zero(other.quantized.zero)), SUM)
            value = self._step("arith.subi", (value, term), SUM)
        if lhs.quantized.zero.absent or rhs.quantized.zero.absent:
            return value
        op = self.match.op
        both = self._step(
            "arith.muli", tuple(self._zero(f.quantized.zero) for f in (lhs, rhs)), SUM
        )
        number = math.prod(op.domain[d] for d in op.reduction_dims)
        if isinstance(number, Size):
            (more, read, number), (less, _, _) = (self.writer.sum_of(lhs, n) for n in (1, 0))
            sums = self._input(more, read), self._input(less, read)
            both = self._step("arith.muli", (both, self._step("arith.subi", sums, SUM)), SUM)
        return self._step("arith.addi", (value, self._times(both, number)), SUM)

    def _zero(self, zero: Zero) -> int:
        """A zero point in the type of the sum, modulo its range."""
        offset = (zero.offset + _HALF) % (2 * _HALF) - _HALF
        if zero.tensor is None:
            return self._constant(f"{offset} : {SUM}", SUM)
        value = self._input(zero.tensor, zero.map)
        element = self.writer.rewriting.type_of(zero.tensor).element
        for cast in zero.casts:
            value = self._step(cast.name, (value,), cast.type)
            element = cast.type
        if element != SUM:
            wide = int(element.removeprefix("i")) > int(SUM.removeprefix("i"))
            value = self._step("arith.trunci" if wide else "arith.extsi", (value,), SUM)
        if offset:
            other = self._constant(f"{offset} : {SUM}", SUM)
            value = self._step("arith.addi", (value, other), SUM)
        return value

    def _times(self, value: int, count: int) -> int:
        if count == 1:
            return value
        return self._step("arith.muli", (value, self._constant(f"{count} : {SUM}", SUM)), SUM)

    def _input(self, tensor: int, index_map: IndexMap) -> int:
        """An input, as a number below zero."""
        for i, known in enumerate(zip(self.sources, self.maps, strict=True)):
            if known == (tensor, index_map):
                return -1 - i
        self.sources.append(tensor)
        self.maps.append(index_map)
        return -len(self.sources)

    def _constant(self, text: str, element: str) -> int:
        return self._step("arith.constant", (), element, (("value", text),))

    def _step(
        self,
        name: str,
        operands: tuple[int, ...],
        element: str,
        attributes: tuple[tuple[str, str], ...] = (),
    ) -> int:
        self.steps.append(ScalarOp(name, operands, element, attributes))
        return len(self.steps) - 1
