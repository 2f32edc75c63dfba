"""Numbers to quantized integers and back, as the elementwise ops that IREE makes of them.

    quantize_affine(x, scale, zero)     ->   clamp(roundeven(x / scale) + zero), as an integer
    dequantize_affine(q, scale, zero)   ->   (widen(q) - zero) * scale

The ONNX import of IREE 3.13 writes QuantizeLinear and DequantizeLinear as these ops of
``iree_linalg_ext``, which have indexing maps but no body.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from iree.compiler import ir

from layoutopt.ir.affine import IndexMap, plain_dims
from layoutopt.ir.graph import IteratorType, Structured, Uninitialized
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.mlir.read.run_time_scalars import is_number, scalar_tensor
from layoutopt.mlir.read.state import NotUnderstood, State, new_tensor, static_type, tensor_of
from layoutopt.mlir.read.structured import index_map

QUANTIZE = "iree_linalg_ext.quantize_affine"
DEQUANTIZE = "iree_linalg_ext.dequantize_affine"
_WIDER = {"i8": "i16", "i16": "i32", "i32": "i64"}
_BITS = {"i8": 8, "i16": 16, "i32": 32, "i64": 64}


def lift_affine_quantization(state: State, op: Any) -> None:
    """Add a quantize or dequantize op. Raises NotUnderstood where its numbers are not f32."""
    operation = op.operation
    *read, out = operation.operands
    kind = static_type(state, out)
    attributes = operation.attributes
    maps = [index_map(ir.AffineMapAttr(a).value) for a in attributes["indexing_maps"]]
    if plain_dims(maps[-1]) is None:
        raise NotUnderstood("expected a result that is written in order, but it is not")
    domain = [0] * len(maps[-1])
    for form, n in zip(maps[-1], kind.shape, strict=True):
        domain[form.dims[0]] = n
    writer = _Writer([str(_element(v)) for v in read])
    sources: list[int] = []
    read_maps: list[IndexMap] = []
    for position, value in enumerate(read):
        if value in state.scalars:
            writer.constants[position] = state.scalars[value][0]
            continue
        writer.arguments[position] = len(sources)
        scalar = is_number(value.type)
        sources.append(scalar_tensor(state, value, op) if scalar else tensor_of(state, value))
        read_maps.append(maps[position])
    integer = kind.element if operation.name == QUANTIZE else writer.elements[0]
    floats = {kind.element, *writer.elements[:2]} - {integer}
    zeros = {writer.elements[2]} if len(read) == 3 else set()
    if floats != {"f32"} or not {integer, *zeros} <= _BITS.keys() or integer not in _WIDER:
        raise NotUnderstood(f"expected f32 and integers of up to 32 bits, but got {sorted(floats)}")
    if operation.name == QUANTIZE:
        lowest, highest = (ir.IntegerAttr(attributes[f"quant_{end}"]).value for end in _ENDS)
        body = writer.quantized(kind.element, lowest, highest, "storage_unsigned" in attributes)
    else:
        body = writer.dequantized("input_unsigned" in attributes)
    state.builder.add(
        Structured(
            tuple(sources),
            (Uninitialized(),),
            (new_tensor(state, operation.results[0], kind),),
            tuple(domain),
            (IteratorType.PARALLEL,) * len(domain),
            (*read_maps, maps[-1]),
            body,
        )
    )


_ENDS = ("min", "max")


def _element(value: Any) -> str:
    return str(value.type if is_number(value.type) else value.type.element_type)


@dataclass
class _Writer:
    """Bodies over the operands: number or integer, scale, and perhaps zero point."""

    elements: list[str]
    constants: dict[int, str] = field(default_factory=dict)
    arguments: dict[int, int] = field(default_factory=dict)
    ops: list[ScalarOp] = field(default_factory=list)

    def quantized(self, element: str, lowest: int, highest: int, unsigned: bool) -> Body:
        """``element``: of the result; ``unsigned``: it holds an unsigned number."""
        value = self._op("arith.divf", [self._operand(0), self._operand(1)], "f32")
        value = self._op("math.roundeven", [value], "f32")
        if len(self.elements) == 3:
            zero = self._op("arith.sitofp", [self._operand(2)], "f32")
            value = self._op("arith.addf", [value, zero], "f32")
        value = self._op("arith.maxnumf", [value, self._number(lowest)], "f32")
        value = self._op("arith.minnumf", [value, self._number(highest)], "f32")
        return self._body(self._op(f"arith.fpto{'u' if unsigned else 's'}i", [value], element))

    def dequantized(self, unsigned: bool) -> Body:
        """``unsigned``: the integer holds an unsigned number. The difference is twice as wide."""
        value = self._operand(0)
        cast = "u" if unsigned else "s"
        if len(self.elements) == 3:
            wide = _WIDER[self.elements[0]]
            value = self._op(f"arith.ext{cast}i", [value], wide)
            zero, cast = self._operand(2), "s"
            gained = _BITS[wide] - _BITS[self.elements[2]]
            if gained:
                zero = self._op(f"arith.{'extsi' if gained > 0 else 'trunci'}", [zero], wide)
            value = self._op("arith.subi", [value, zero], wide)
        value = self._op(f"arith.{cast}itofp", [value], "f32")
        return self._body(self._op("arith.mulf", [value, self._operand(1)], "f32"))

    def _body(self, value: int) -> Body:
        """The values numbered as a body numbers them: arguments, then ops."""
        last = self.ops[-1].type
        kept = [self.elements[p] for p in self.arguments]
        first = len(kept) + 1

        def moved(v: int) -> int:
            return first + v if v >= 0 else -1 - v

        ops = tuple(
            ScalarOp(o.name, tuple(map(moved, o.operands)), o.type, o.attributes) for o in self.ops
        )
        return Body((*kept, last), ops, (moved(value),))

    def _operand(self, position: int) -> int:
        """An op's number, or a negative one for an argument."""
        if position in self.arguments:
            return -1 - self.arguments[position]
        element = self.elements[position]
        return self._op("arith.constant", [], element, self.constants[position])

    def _number(self, value: int) -> int:
        return self._op("arith.constant", [], "f32", f"{float(value)!r} : f32")

    def _op(self, name: str, operands: list[int], element: str, value: str = "") -> int:
        attributes = (("value", value),) if value else ()
        self.ops.append(ScalarOp(name, tuple(operands), element, attributes))
        return len(self.ops) - 1
