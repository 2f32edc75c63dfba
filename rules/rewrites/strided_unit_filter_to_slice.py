"""A strided convolution with a 1x1 filter reads every s-th element: slice first.

    conv(x, w[.., 1, 1], stride s)   ->   conv(x[:, ::s, ::s, :], w, stride 1)

Sound because the elements between the strides are never read.
"""

from __future__ import annotations

from dataclasses import replace

from layoutopt.affine import affine
from layoutopt.graph import Graph, Slice
from layoutopt.rules.rewrites.examples import convolution_example
from layoutopt.rules.rewrites.window import Convolution, convolution, plain_dim_map
from layoutopt.rules.rule import Example, Expression, Refusal
from layoutopt.types import TensorType


class StridedUnitFilterToSlice:
    """Strided 1x1 convolution -> strided slice and 1x1 convolution."""

    name = "strided-unit-filter-to-slice"
    summary = "strided 1x1 convolution -> strided slice + 1x1 convolution"
    proof = "output i reads x[s * i]; the slice holds exactly these elements, in order"
    normal_form = False
    examples = (
        Example(convolution_example(filter_size=1, stride=2), 0),
        Example(convolution_example(filter_size=1, stride=1), 0,
                refusal="expected a stride above 1, but got 1"),
    )

    def match(self, graph: Graph, op: int) -> Convolution | None:
        """Every window has a filter of one element."""
        found = convolution(graph, op)
        if found is None or any(found.filter_size(w) != 1 for w in found.windows):
            return None
        return found

    def guard(self, match: Convolution) -> Refusal | None:
        """There must be something to skip."""
        if all(w.stride == 1 or match.image_size(w) == 1 for w in match.windows):
            return Refusal("expected a stride above 1, but got 1")
        return None

    def rewrite(self, graph: Graph, match: Convolution) -> Expression:
        """Slice the image, then convolve with stride 1."""
        shape = list(graph.types[match.image].shape)
        strides = [1] * len(shape)
        forms = {}
        for w in match.windows:
            shape[w.axis] = match.image_size(w)
            strides[w.axis] = w.stride
            forms[w.axis] = (affine([(w.image, 1), (w.filter, 1)]),)
        sliced = len(graph.types)
        element = graph.types[match.image].element
        cut = Slice(match.image, sliced, (0,) * len(shape), tuple(strides))
        op = replace(match.op, sources=(sliced, match.op.sources[1]),
                     maps=(plain_dim_map(match, forms), *match.op.maps[1:]))
        return Expression((TensorType(tuple(shape), element),), (cut, op))
