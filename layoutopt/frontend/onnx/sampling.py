"""GridSample as reads by index that never leave the image, and the sum of what they give.

Each sample is between four pixels (or on the nearest one); those beside the image count as zero, or
as the pixels at its border.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from types import MappingProxyType

import ml_dtypes
import numpy as np
import onnx

from layoutopt.frontend.onnx.nodes import Builder, Known, Nodes, attributes, operand

_MODES = frozenset({b"bilinear", b"linear", b"nearest"})
_ELEMENTS = MappingProxyType(
    {
        np.dtype(np.float16): onnx.TensorProto.FLOAT16,
        np.dtype(np.float32): onnx.TensorProto.FLOAT,
        np.dtype(ml_dtypes.bfloat16): onnx.TensorProto.BFLOAT16,
    }
)
"""What samples are taken of; they are computed in f32."""
_MOST_PIXELS = 1 << 24
"""Places are computed in f32, which holds each whole number up to this one."""


def grid_sample(node: onnx.NodeProto, known: Known, builder: Builder) -> Nodes | None:
    """Plain ops in place of GridSample; None for volumes, open sizes, cubic ones and reflection."""
    told = attributes(node)
    image, grid = operand(node, 0), operand(node, 1)
    shape, samples = known.shape(image), known.shape(grid)
    element = _ELEMENTS.get(known.dtype(image))
    mode, padding = told.get("mode", b"linear"), told.get("padding_mode", b"zeros")
    if mode not in _MODES or padding not in {b"zeros", b"border"}:
        return None
    if shape is None or len(shape) != 4 or samples is None or element is None:
        return None
    _, channels, height, width = shape
    if not channels or not height or not width or height * width > _MOST_PIXELS:
        return None
    if samples[1:3].count(None) > 1:
        return None
    aligned = told.get("align_corners", 0) == 1
    sampler = _Sampler(builder, (channels, height, width), padding == b"zeros")
    places = [sampler.place(grid, axis, size, aligned) for axis, size in enumerate((width, height))]
    pixels = builder.add("Cast", [image], to=onnx.TensorProto.FLOAT)
    pixels = builder.add("Reshape", [pixels, builder.sizes(0, 0, height * width)])
    if mode == b"nearest":
        x, y = (builder.add("Round", [place]) for place in places)
        total = sampler.read(pixels, x, y)
    else:
        total = sampler.between(pixels, places)
    sizes = (-1 if n is None else n for n in samples[1:3])
    total = builder.add("Cast", [total], to=element)
    builder.add("Reshape", [total, builder.sizes(0, 0, *sizes)], node.output[0])
    return builder.nodes


@dataclass(frozen=True)
class _Sampler:
    """Writes the reads of one image, whose pixels are one dim: ``[n, channels, pixels]``."""

    builder: Builder
    image: tuple[int, int, int]
    """Channels, height, width."""
    zeros: bool
    """Whether pixels beside the image are zero; else they are those at its border."""

    def place(self, grid: str, axis: int, size: int, aligned: bool) -> str:
        """Where samples are along one axis, in pixels: ``[n, 1, samples]``.

        From -1 at one end to 1 at the other: of the outermost pixels' centres where aligned, else
        of their edges.
        """
        add, number = self.builder.add, self._number
        one = add("Cast", [grid], to=onnx.TensorProto.FLOAT)
        one = add("Gather", [one, self.builder.constant(np.array(axis))], axis=3)
        one = add("Reshape", [one, self.builder.sizes(0, 1, -1)])
        scale = (size - 1 if aligned else size) / 2
        shifted = add("Mul", [add("Add", [one, number(1)]), number(scale)])
        found = shifted if aligned else add("Sub", [shifted, number(0.5)])
        return found if self.zeros else self._inside(found, size)

    def between(self, pixels: str, places: Sequence[str]) -> str:
        """The four pixels around each place, weighed by how near they are."""
        add = self.builder.add
        low = [add("Floor", [place]) for place in places]
        high = [add("Add", [corner, self._number(1)]) for corner in low]
        to_high = [add("Sub", [p, corner]) for p, corner in zip(places, low, strict=True)]
        to_low = [add("Sub", [self._number(1), part]) for part in to_high]
        rows = []
        for y, part_y in ((low[1], to_low[1]), (high[1], to_high[1])):
            parts = [
                add("Mul", [self.read(pixels, x, y), part_x])
                for x, part_x in ((low[0], to_low[0]), (high[0], to_high[0]))
            ]
            rows.append(add("Mul", [add("Add", parts), part_y]))
        return add("Add", rows)

    def read(self, pixels: str, x: str, y: str) -> str:
        """The pixels at whole places, ``[n, channels, samples]``."""
        add = self.builder.add
        channels, height, width = self.image
        inner_x, inner_y = self._inside(x, width), self._inside(y, height)
        row = add("Mul", [inner_y, self._number(width)])
        index = add("Cast", [add("Add", [row, inner_x])], to=onnx.TensorProto.INT64)
        index = add("Max", [index, self.builder.constant(np.array(0))])
        index = add("Min", [index, self.builder.constant(np.array(height * width - 1))])
        index = add("Expand", [index, self.builder.sizes(1, channels, 1)])
        found = add("GatherElements", [pixels, index], axis=2)
        if not self.zeros:
            return found
        inside = [add("Equal", pair) for pair in ((x, inner_x), (y, inner_y))]
        return add("Where", [add("And", inside), found, self._number(0)])

    def _inside(self, place: str, size: int) -> str:
        low = self.builder.add("Max", [place, self._number(0)])
        return self.builder.add("Min", [low, self._number(size - 1)])

    def _number(self, value: float) -> str:
        return self.builder.constant(np.array(value, np.float32))
