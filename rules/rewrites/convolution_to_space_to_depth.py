"""A convolution with a stride along its rows is one without, over pixels taken s at a time.

    y[h, w] += x[2h + i, 2w + j, c] * k[i, j, c]
      ->
    y[h, w] += x'[2h + i, w + j', q, c] * k'[i, j', q, c]      x': W -> (W/2, 2), j = 2 j' + q

Sound because j = s j' + q with q < s is a mixed-radix number; where s does not divide the taps, k'
ends in zeros. The memory of x stays as it is: x' is a reshape (space-to-depth along the rows). Then
neighbours in a row of y read neighbours of x', which share a tile of registers. A depthwise
convolution gains nothing: its vectors are channels. Assumes no Inf or NaN in x.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.affine import affine, dim
from layoutopt.ir.graph import Graph, GraphBuilder, IteratorType, Pad, Reshape
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.roles import roles
from layoutopt.ir.size import Size
from layoutopt.ir.types import is_complex, is_float
from layoutopt.rules.rewrites.examples import convolution_example
from layoutopt.rules.rewrites.interior_padding import zero_pad
from layoutopt.rules.rewrites.window import Convolution, Window, convolution
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression, over_budget

_ZEROS = 3
"""Taps of zeros are at most one for so many of the filter's own: else im2col moves less."""


@dataclass(frozen=True, slots=True)
class StridedRow:
    """A convolution, and its window along the rows of the image."""

    convolution: Convolution
    window: Window

    @property
    def taps(self) -> int:
        """Filter elements along a row."""
        return self.convolution.filter_size(self.window)

    @property
    def steps(self) -> int:
        """Filter elements along a row once ``stride`` of them are one."""
        return -(-self.taps // self.window.stride)

    @property
    def width(self) -> int:
        """Of the image that the windows read with zeros behind the filter, in whole steps."""
        w = self.window
        read = w.stride * (self.convolution.image_size(w) - 1 + self.steps)
        return max(read, -(-w.axis_size // w.stride) * w.stride)


class ConvolutionToSpaceToDepth:
    """Strided convolutions whose windows overlap."""

    name = "convolution-to-space-to-depth"
    summary = "convolution strided along rows -> reshape + convolution of stride 1 along rows"
    argument = "the index s * i + j is s * (i + j div s) + j mod s; zeros stand behind the filter"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.ASSUMES_FINITE
    canonicalizes = False
    examples = (
        Example(convolution_example(filter_size=3, stride=2), 0),
        Example(convolution_example(filter_size=4, stride=2, margin=1), 0),
        Example(convolution_example(filter_size=7, stride=2), 0),
        Example(
            convolution_example(filter_size=4, stride=3),
            0,
            refusal="expected at most 1 taps of zeros, the budget of one for 3 of the filter, "
            "but got 2",
        ),
    )

    def match(self, graph: Graph, op: int) -> StridedRow | None:
        """A convolution whose last window moves by less than its filter, but not by one."""
        found = convolution(graph, op)
        if found is None:
            return None
        last = found.windows[-1]
        if not roles(found.op).n:  # depthwise: as fast as it is
            return None
        if isinstance(last.axis_size, Size) or isinstance(found.image_size(last), Size):
            return None
        if any(_zero(graph.types[tensor].element) is None for tensor in found.op.sources):
            return None
        suits = last.dilation == 1 and 1 < last.stride < found.filter_size(last)
        return StridedRow(found, last) if suits else None

    def guard(self, match: StridedRow) -> Refusal | None:
        """Zeros are multiplied too."""
        zeros = match.steps * match.window.stride - match.taps
        return over_budget(
            zeros, match.taps // _ZEROS, "taps of zeros", f"one for {_ZEROS} of the filter"
        )

    def rewrite(self, graph: Graph, match: StridedRow) -> Expression:
        """Reshape image and filter, convolve."""
        op, window = match.convolution.op, match.window
        builder = GraphBuilder(len(graph.types))
        along = next(
            axis for axis, form in enumerate(op.source_maps[1]) if form.plain_dim == window.filter
        )
        ends = (window.axis, match.width), (along, match.steps * window.stride)
        image, filters = (
            _in_steps(graph, builder, tensor, axis, size, window.stride)
            for tensor, (axis, size) in zip(op.sources, ends, strict=True)
        )
        # of the loops that are summed over the new one is the outermost, as in memory
        inside = min(op.reduction_dims)
        number = {d: d + (d >= inside) for d in range(len(op.domain))}
        read, weighed, made = (tuple(f.renamed(number) for f in m) for m in op.maps)
        row = affine([(number[window.image], 1), (number[window.filter], 1)])
        sizes = [match.steps if d == window.filter else n for d, n in enumerate(op.domain)]
        builder.add(
            replace(
                op,
                sources=(image, filters),
                domain=(*sizes[:inside], window.stride, *sizes[inside:]),
                iterators=(
                    *op.iterators[:inside],
                    IteratorType.REDUCTION,
                    *op.iterators[inside:],
                ),
                maps=(
                    (*read[: window.axis], row, dim(inside), *read[window.axis + 1 :]),
                    (*weighed[: along + 1], dim(inside), *weighed[along + 1 :]),
                    made,
                ),
            )
        )
        return Expression(tuple(builder.types), tuple(builder.ops))


def _in_steps(
    graph: Graph, builder: GraphBuilder, tensor: int, axis: int, size: int, step: int
) -> int:
    """A tensor with zeros behind it along ``axis``, which is split into (size / step, step)."""
    shape, element = list(graph.types[tensor].shape), graph.types[tensor].element
    lacking = size - shape[axis]
    shape[axis] = size
    if lacking:
        none = (0,) * len(shape)
        wide = builder.tensor(tuple(shape), element)
        zero = _zero(element)
        assert zero is not None  # as matched
        pad = zero_pad(graph, tensor) or Pad(tensor, wide, none, none, zero)
        high = tuple(n + lacking * (a == axis) for a, n in enumerate(pad.high))
        builder.add(replace(pad, result=wide, high=high))
        tensor = wide
    split = builder.tensor((*shape[:axis], size // step, step, *shape[axis + 1 :]), element)
    builder.add(Reshape(tensor, split))
    return split


def _zero(element: str) -> str | None:
    """Zero as MLIR text; None of complex numbers."""
    if is_float(element):
        return f"0.0 : {element}"
    return None if is_complex(element) else f"0 : {element}"
