"""Convolutions over dims of open sizes, which IREE converts where only the batch is open.

    convolution %x, %w, [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], padding = [[1, 1], [0, 0]]
      ->
    pad %x, 0 low [0, 1, 0, 0] high [0, 1, 0, 0]
    linalg.generic over (b, h, w, o, kh, kw, i): y[b, h, w, o] += x[b, h + kh, w + kw, i] * ..

Those in groups, of windows that run backwards or of images spread by zeros stay as they came, and
those whose window may be larger than the image.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir

from layoutopt.mlir.read.sizes import Sizes
from layoutopt.mlir.stablehlo.building import (
    Place,
    ahead,
    constant,
    empty,
    generic,
    known_shape,
    made,
    replaced,
    tensor_type,
)
from layoutopt.mlir.stablehlo.contractions import is_arithmetic, multiplied
from layoutopt.mlir.stablehlo.numbers import Numbers
from layoutopt.mlir.stablehlo.shapes import by_dim, convolution_dims, pads, result_shapes


def convolve(op: Any, sizes: Sizes, numbers: Numbers) -> None:
    """Write a convolution as its loops, where a dim that its windows move along is open."""
    image, kernel, result = convolution_dims(op)
    kinds = [v.type.element_type for v in (*op.operands, *op.results)]
    moved = [result.index(str(d)) for d in range(len(image) - 2)]
    (shape,) = result_shapes(sizes, numbers, op)
    still_open = any(op.results[0].type.is_dynamic_dim(d) for d in moved)
    if shape is None or not still_open or not _is_plain(op, len(moved)) or not is_arithmetic(kinds):
        return
    with ahead(op):
        kind = kinds[2]
        source = _padded(op, sizes, image)
        into = empty(sizes, shape, op.results[0].type)
        zeros = generic([], shape, into, lambda _: constant(0, kind))
        reads = zip((source, op.operands[1]), _places(op, image, kernel, result), strict=True)
        value = generic([*reads], shape, zeros, lambda given: multiplied(given, kind))
    replaced(sizes, op, value)


def _is_plain(op: Any, rank: int) -> bool:
    """Whether it has no groups, nothing between elements of the image, and no reversal."""
    groups = (op.attributes[f"{of}_group_count"] for of in ("feature", "batch"))
    backwards = "window_reversal" in op.attributes and any(
        ir.DenseBoolArrayAttr(op.attributes["window_reversal"])
    )
    spread = any(n != 1 for n in by_dim(op, "lhs_dilation", rank))
    return all(ir.IntegerAttr(g).value == 1 for g in groups) and not backwards and not spread


def _padded(op: Any, sizes: Sizes, image: Sequence[str]) -> Any:
    """The image with zeros around it."""
    source = op.operands[0]
    around = dict(enumerate(pads(op, len(image) - 2)))
    amounts = [around[int(p)] if p.isdigit() else (0, 0) for p in image]
    if not any(map(any, amounts)):
        return source
    shape = known_shape(sizes, source)
    grown = [n + low + high for n, (low, high) in zip(shape, amounts, strict=True)]
    zero = constant(0, source.type.element_type)
    value = made("tensor.from_elements", [zero], tensor_type((), source.type))
    return made(
        "stablehlo.pad",
        [source, value],
        tensor_type(grown, source.type),
        edge_padding_low=ir.DenseI64ArrayAttr.get([low for low, _ in amounts]),
        edge_padding_high=ir.DenseI64ArrayAttr.get([high for _, high in amounts]),
        interior_padding=ir.DenseI64ArrayAttr.get([0] * len(amounts)),
    )


def _places(
    op: Any, image: Sequence[str], kernel: Sequence[str], result: Sequence[str]
) -> tuple[list[Place], list[Place]]:
    """The loops that dims of the image and of the kernel go along with.

    Those of the result's dims come first, then those of the window's, then the channel's.
    """
    rank = len(image) - 2
    strides, dilations = (by_dim(op, name, rank) for name in ("window_strides", "rhs_dilation"))
    channel = len(result) + rank
    moved = {
        str(d): ((result.index(str(d)), strides[d]), (len(result) + d, dilations[d]))
        for d in range(rank)
    }
    read: dict[str, Place] = {**moved, "b": result.index("b"), "f": channel}
    within: dict[str, Place] = {str(d): len(result) + d for d in range(rank)}
    within |= {"i": channel, "o": result.index("f")}
    return [read[p] for p in image], [within[p] for p in kernel]
