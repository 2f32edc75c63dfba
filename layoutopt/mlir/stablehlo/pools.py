"""Windows of open sizes: IREE converts those with channels last and without padding.

    reduce_window %x, %init {window_dimensions = [1, 1, 2, 2], padding = ..} : ?x16x31x31
      ->
    pad %x, %init; transpose; reduce_window {window_dimensions = [1, 2, 2, 1]}; transpose

The elements around a tensor are the init of the window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir

from layoutopt.mlir.read.sizes import Sizes
from layoutopt.mlir.stablehlo.building import after, ahead, known_shape, made, tensor_type
from layoutopt.mlir.stablehlo.numbers import Numbers
from layoutopt.mlir.stablehlo.shapes import pads

_BY_DIM = ("window_dimensions", "window_strides", "base_dilations", "window_dilations")
_LEAST_RANK = 3


def plain_window(op: Any, sizes: Sizes, numbers: Numbers) -> None:
    """Pad first, and move dim 1 behind all others where it has no window and the last one has."""
    del numbers
    if op.operands[0].type.has_static_shape or len(op.results) != 1:
        return
    window = list(ir.DenseI64ArrayAttr(op.attributes["window_dimensions"]))
    _pad_first(op, sizes)
    if len(window) >= _LEAST_RANK and window[:2] == [1, 1] and window[-1] != 1:
        _put_channels_last(op, sizes)


def _pad_first(op: Any, sizes: Sizes) -> None:
    """The elements around a tensor are the init of the window: a pad writes them."""
    source, init = list(op.operands)[:2]
    around = pads(op, source.type.rank)
    spread = op.attributes.get("base_dilations", None)
    dense = spread is None or all(n == 1 for n in ir.DenseI64ArrayAttr(spread))
    if not any(map(any, around)) or not dense:
        return
    shape = known_shape(sizes, source)
    padded = tuple(n + low + high for n, (low, high) in zip(shape, around, strict=True))
    with ahead(op):
        value = made(
            "stablehlo.pad",
            [source, init],
            tensor_type(padded, source.type),
            edge_padding_low=ir.DenseI64ArrayAttr.get([low for low, _ in around]),
            edge_padding_high=ir.DenseI64ArrayAttr.get([high for _, high in around]),
            interior_padding=ir.DenseI64ArrayAttr.get([0] * len(shape)),
        )
    sizes.shapes[value] = padded
    op.operands[0] = value
    del op.attributes["padding"]


def _put_channels_last(op: Any, sizes: Sizes) -> None:
    source, result = op.operands[0], op.results[0]
    order = [0, *range(2, source.type.rank), 1]
    back = [order.index(d) for d in range(len(order))]
    shape = known_shape(sizes, result)
    last = tuple(shape[d] for d in order)
    with ahead(op):
        op.operands[0] = _transposed(source, known_shape(sizes, source), order)
        for name in _BY_DIM:
            if name in op.attributes:
                by_dim = list(ir.DenseI64ArrayAttr(op.attributes[name]))
                op.attributes[name] = ir.DenseI64ArrayAttr.get([by_dim[d] for d in order])
        result.set_type(tensor_type(last, result.type))
    uses = list(result.uses)
    with after(result):
        value = _transposed(result, last, back)
    for use in uses:
        use.owner.operands[use.operand_number] = value
    sizes.shapes[value] = shape
    sizes.shapes[result] = last


def _transposed(value: Any, shape: Sequence[int], order: Sequence[int]) -> Any:
    kind = tensor_type([shape[d] for d in order], value.type)
    permutation = ir.DenseI64ArrayAttr.get(list(order))
    return made("stablehlo.transpose", [value], kind, permutation=permutation)
