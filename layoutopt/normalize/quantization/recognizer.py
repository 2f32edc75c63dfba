"""Find the quantized tensors of a graph: by what computes them, op by op.

dequantize(q)                ->   q, zero point, scale
pad(dequantize(q), 0)        ->   pad(q, zero point), ..
transpose, slice, reshape    ->   of q
extui(u) - zero              ->   u - 128 as i8, zero point - 128
"""

from __future__ import annotations

from dataclasses import replace

from layoutopt.ir.affine import Affine, IndexMap, dim, identity_map, plain_dims
from layoutopt.ir.graph import (
    Graph,
    IteratorType,
    Op,
    Pad,
    Reshape,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp, copy_body
from layoutopt.normalize.quantization.quantized import (
    INTEGER,
    SHIFT,
    Quantized,
    Scale,
    Zero,
    depends,
    parts_of,
)
from layoutopt.oracle.constant import constant
from layoutopt.oracle.scalar import apply
from layoutopt.rules.rewrites.interior_padding import is_zero
from layoutopt.rules.rewrites.loops import Rewriting

_CASTS = ("arith.extsi", "arith.extui", "arith.trunci")


class Recognizer:
    """Finds quantized tensors of a graph and adds what their integers take."""

    def __init__(self, graph: Graph, rewriting: Rewriting) -> None:
        self.graph = graph
        self.rewriting = rewriting
        self._known: dict[int, Quantized | None] = {}
        self._shifted: dict[int, int] = {}

    def tensor(self, tensor: int) -> Quantized | None:
        """How a tensor is quantized, over its dims; None where it is not."""
        if tensor not in self._known:
            self._known[tensor] = self._tensor(tensor)
        return self._known[tensor]

    def value(self, op: Structured, value: int) -> tuple[Quantized, int] | None:
        """How a value of a body is quantized, over its loops, and the input that it stems from."""
        scalar = op.body.op_of(value)
        if scalar is None:
            if value >= len(op.sources):
                return None
            found = self.tensor(op.sources[value])
            return None if found is None else (found.read_by(op.source_maps[value]), value)
        for position in self._principal(scalar):
            inner = self.value(op, scalar.operands[position])
            if inner is None:
                continue
            made = self._stepped(op, scalar, position, inner[0])
            return None if made is None else (made, inner[1])
        return None

    def _principal(self, scalar: ScalarOp) -> tuple[int, ...]:
        """The operands that the quantized number may come in by."""
        if scalar.name == "arith.mulf":
            return (0, 1)
        known = (*_CASTS, "arith.subi", "arith.sitofp", "arith.uitofp")
        return (0,) if scalar.name in known else ()

    def _stepped(
        self, op: Structured, scalar: ScalarOp, position: int, before: Quantized
    ) -> Quantized | None:
        """What one op of a body makes of a quantized number."""
        match scalar.name:
            case "arith.extsi" if not before.floating:
                return replace(before, element=scalar.type)
            case "arith.extui" if before.raw:
                return self._unsigned(before, scalar.type)
            case "arith.sitofp" if not before.floating:
                return replace(before, element=scalar.type)
            case "arith.uitofp" if before.raw:
                return self._unsigned(before, scalar.type)
            case "arith.subi" if not before.raw and not before.floating:
                return self._less(op, scalar, before)
            case "arith.mulf" if before.floating:
                scale = self._scale(op, scalar.operands[1 - position])
                if scale is None or scalar.type != before.element:
                    return None
                return replace(before, scales=(*before.scales, scale))
        return None

    def _unsigned(self, before: Quantized, element: str) -> Quantized:
        source = before.integers
        if source not in self._shifted:
            kind = self.rewriting.type_of(source)
            made = self.rewriting.tensor(kind.shape, INTEGER)
            rank = len(kind.shape)
            ops = (
                ScalarOp("arith.constant", (), INTEGER, (("value", f"{-SHIFT} : {INTEGER}"),)),
                ScalarOp("arith.addi", (0, 2), INTEGER),
            )
            self.rewriting.builder.add(
                Structured(
                    (source,),
                    (Uninitialized(),),
                    (made,),
                    kind.shape,
                    (IteratorType.PARALLEL,) * rank,
                    (identity_map(rank),) * 2,
                    Body((INTEGER, INTEGER), ops, (3,)),
                )
            )
            self._shifted[source] = made
        zero = replace(before.zero, offset=before.zero.offset - SHIFT)
        return replace(before, integers=self._shifted[source], element=element, zero=zero)

    def _less(self, op: Structured, scalar: ScalarOp, before: Quantized) -> Quantized | None:
        """Less a zero point, where none was taken off before."""
        zero = self._zero(op, scalar.operands[1])
        if zero is None or before.narrowest is not None:
            return None
        zero = replace(zero, offset=zero.offset + before.zero.offset)
        return replace(
            before, element=scalar.type, zero=zero, narrowest=int(scalar.type.removeprefix("i"))
        )

    def _zero(self, op: Structured, value: int) -> Zero | None:
        scalar = op.body.op_of(value)
        if scalar is None:
            if value >= len(op.sources):
                return None
            tensor = op.sources[value]
            splat = self.graph.splats.get(tensor)
            number = None if splat is None else constant(splat, op.body.arguments[value])
            if number is not None:
                return Zero(int(number))
            return Zero(0, tensor, op.source_maps[value])
        if scalar.name == "arith.constant":
            number = constant(scalar.attribute("value"), scalar.type)
            return None if number is None else Zero(int(number))
        if scalar.name not in _CASTS:
            return None
        inner = self._zero(op, scalar.operands[0])
        if inner is None:
            return None
        if inner.tensor is None:
            given = constant(str(inner.offset), op.body.type_of(scalar.operands[0]))
            number = None if given is None else apply(scalar, [given])
            return None if number is None else Zero(int(number))
        return replace(inner, casts=(*inner.casts, replace(scalar, operands=())))

    def _scale(self, op: Structured, value: int) -> Scale | None:
        scalar = op.body.op_of(value)
        if scalar is None:
            if value >= len(op.sources):
                return None
            return Scale(None, op.sources[value], op.source_maps[value])
        if scalar.name == "arith.constant":
            return Scale(scalar.attribute("value"))
        return None

    def _tensor(self, tensor: int) -> Quantized | None:
        if self.rewriting.type_of(tensor).element == INTEGER:
            return Quantized(tensor, INTEGER)
        makers = self.graph.producers[tensor]
        return self._made(self.graph.ops[makers[0]]) if len(makers) == 1 else None

    def _made(self, op: Op) -> Quantized | None:
        match op:
            case Structured() if op.is_elementwise and len(op.results) == 1:
                return self._elementwise(op)
            case Pad():
                return self._pad(op)
            case Slice():
                return self._slice(op)
            case Reshape():
                return self._reshape(op)
        return None

    def _elementwise(self, op: Structured) -> Quantized | None:
        """An op that computes each number at its own place, or only brings them into order."""
        dims = plain_dims(op.result_maps[0])
        found = self.value(op, op.body.yields[0])
        if found is None or dims is None or sorted(dims) != list(range(len(op.domain))):
            return None
        made, position = found
        read = plain_dims(op.source_maps[position])
        if read is None or sorted(read) != sorted(dims):
            return None
        moved = made.read_by(tuple(dim(dims.index(d)) for d in range(len(dims))))
        if read == dims:
            return moved
        integers = self.rewriting.tensor(self.rewriting.type_of(op.results[0]).shape, INTEGER)
        self.rewriting.builder.add(
            replace(
                op,
                sources=(made.integers,),
                results=(integers,),
                inits=(Uninitialized(),),
                maps=(op.source_maps[position], op.result_maps[0]),
                body=copy_body(INTEGER),
            )
        )
        return replace(moved, integers=integers)

    def _pad(self, op: Pad) -> Quantized | None:
        found = self.tensor(op.source)
        if found is None or found.zero.tensor is not None:
            return None
        value = found.zero.offset
        padded = {d for d, n in enumerate(zip(op.low, op.high, strict=True)) if any(n)}
        fits = -SHIFT <= value < SHIFT
        if not is_zero(op.value, found.element) or not fits or depends(found, padded):
            return None
        integers = self.rewriting.tensor(self.rewriting.type_of(op.result).shape, INTEGER)
        text = f"{value} : {INTEGER}"
        self.rewriting.builder.add(replace(op, source=found.integers, result=integers, value=text))
        return replace(found, integers=integers)

    def _slice(self, op: Slice) -> Quantized | None:
        found = self.tensor(op.source)
        shapes = self.rewriting.type_of(op.source).shape, self.rewriting.type_of(op.result).shape
        cut = {d for d, (a, b) in enumerate(zip(*shapes, strict=True)) if a != b}
        if found is None or depends(found, cut):
            return None
        integers = self.rewriting.tensor(shapes[1], INTEGER)
        self.rewriting.builder.add(replace(op, source=found.integers, result=integers))
        return replace(found, integers=integers)

    def _reshape(self, op: Reshape) -> Quantized | None:
        """Zero points and scales of a dim that is split are split with it."""
        found = self.tensor(op.source)
        if found is None:
            return None
        old, new = self.rewriting.type_of(op.source).shape, self.rewriting.type_of(op.result).shape
        used = {form.dims[0] for m in found.parameter_maps for form in m if form.dims}
        split = {d: parts_of(old, new, d) for d in used if old[d] > 1}
        if any(parts is None for parts in split.values()):
            return None
        parts = {d: p for d, p in split.items() if p is not None}
        zero = found.zero
        if zero.tensor is not None:
            tensor, index_map = self._split(zero.tensor, zero.map, parts, new)
            zero = replace(zero, tensor=tensor, map=index_map)
        scales = []
        for scale in found.scales:
            if scale.tensor is not None:
                tensor, index_map = self._split(scale.tensor, scale.map, parts, new)
                scale = replace(scale, tensor=tensor, map=index_map)  # noqa: PLW2901
            scales.append(scale)
        integers = self.rewriting.tensor(new, INTEGER)
        self.rewriting.builder.add(Reshape(found.integers, integers))
        return replace(found, integers=integers, zero=zero, scales=tuple(scales))

    def _split(
        self, tensor: int, index_map: IndexMap, parts: dict[int, range], shape: tuple[int, ...]
    ) -> tuple[int, IndexMap]:
        """A zero point or scale where some dims that it is read by become several."""
        forms: list[Affine] = []
        sizes: list[int] = []
        kind = self.rewriting.type_of(tensor)
        for form, n in zip(index_map, kind.shape, strict=True):
            made = parts.get(form.dims[0]) if form.dims else None
            forms += [Affine(())] if made is None else [dim(d) for d in made]
            sizes += [n] if made is None else [shape[d] for d in made]
        if tuple(sizes) == kind.shape:
            return tensor, tuple(forms)
        whole = self.rewriting.tensor(tuple(sizes), kind.element)
        self.rewriting.builder.add(Reshape(tensor, whole))
        return whole, tuple(forms)
