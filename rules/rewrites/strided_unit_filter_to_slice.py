"""A convolution with a 1x1 filter that skips elements reads every s-th one: slice first.

    conv(x, w[.., 1, 1], stride s)   ->   conv(x[:, ::s, ::s, :], w, stride 1)

Sound because the elements between the strides, and behind the last window, are never read.
"""

from __future__ import annotations

from dataclasses import replace

from layoutopt.ir.affine import IndexMap, affine
from layoutopt.ir.graph import Graph, Slice
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.types import TensorType
from layoutopt.rules.rewrites.examples import convolution_example
from layoutopt.rules.rewrites.window import Convolution, convolution, read_instead
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


class StridedUnitFilterToSlice:
    """Strided 1x1 convolution -> strided slice and 1x1 convolution."""

    name = "strided-unit-filter-to-slice"
    summary = "strided 1x1 convolution -> strided slice + 1x1 convolution"
    argument = "output i reads x[s * i]; the slice holds exactly these elements, in order"
    evidence = Evidence.PROVED
    exactness = Exactness.BIT_EXACT
    canonicalizes = False
    examples = (
        Example(convolution_example(filter_size=1, stride=2), 0),
        Example(convolution_example(filter_size=1, stride=1, margin=1), 0),
        Example(
            convolution_example(filter_size=1, stride=1),
            0,
            refusal="expected elements that no window reads, but all are read",
        ),
    )

    def match(self, graph: Graph, op: int) -> Convolution | None:
        """Every window has a filter of one element."""
        found = convolution(graph, op)
        return found if found is not None and found.has_unit_filter else None

    def guard(self, match: Convolution) -> Refusal | None:
        """There must be something to skip."""
        if all(match.image_size(w) == w.axis_size for w in match.windows):
            return Refusal("expected elements that no window reads, but all are read")
        return None

    def rewrite(self, graph: Graph, match: Convolution) -> Expression:
        """Slice the image, then convolve with stride 1."""
        image = graph.types[match.image]
        shape = list(image.shape)
        strides = [1] * len(shape)
        forms: dict[int, IndexMap] = {}
        for w in match.windows:
            shape[w.axis] = match.image_size(w)
            strides[w.axis] = w.stride if match.image_size(w) != 1 else 1
            forms[w.axis] = (affine([(w.image, 1), (w.filter, 1)]),)
        sliced = len(graph.types)
        cut = Slice(match.image, sliced, (0,) * len(shape), tuple(strides))
        op = replace(
            match.op,
            sources=(sliced, match.op.sources[1]),
            maps=(read_instead(match, forms), *match.op.maps[1:]),
        )
        return Expression((TensorType(tuple(shape), image.element),), (cut, op))
