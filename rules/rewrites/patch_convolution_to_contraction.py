"""A convolution whose windows do not overlap and leave no gap is a contraction over patches.

    conv(x, w, stride = filter)   ->   contraction(reshape(x), w)      x: H -> (H/k, k)

Sound because window i reads exactly x[k*i .. k*i + k - 1], which is row i of the reshaped dim.
"""

from __future__ import annotations

from dataclasses import replace

from layoutopt.ir.affine import plain_map
from layoutopt.ir.graph import Graph, Op, Reshape, Slice
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.types import TensorType
from layoutopt.rules.rewrites.examples import convolution_example
from layoutopt.rules.rewrites.window import Convolution, convolution, read_instead
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


class PatchConvolutionToContraction:
    """Filter = stride: patch embedding and its like."""

    name = "patch-convolution-to-contraction"
    summary = "convolution with filter = stride -> reshape + contraction"
    argument = "windows tile the image: the index s * i + j with j < s is a mixed-radix number"
    evidence = Evidence.PROVED
    exactness = Exactness.BIT_EXACT
    canonicalizes = False
    examples = (
        Example(convolution_example(filter_size=2, stride=2), 0),
        Example(
            convolution_example(filter_size=3, stride=2),
            0,
            refusal="expected filter = stride without dilation, but got filter 3 stride 2 "
            "dilation 1",
        ),
    )

    def match(self, graph: Graph, op: int) -> Convolution | None:
        """Any convolution with a filter of more than one element."""
        found = convolution(graph, op)
        return found if found is not None and not found.has_unit_filter else None

    def guard(self, match: Convolution) -> Refusal | None:
        """Windows must tile the image."""
        for w in match.windows:
            size = match.filter_size(w)
            if w.stride != size or (w.dilation != 1 and size != 1):
                return Refusal(
                    "expected filter = stride without dilation, but got filter "
                    f"{size} stride {w.stride} dilation {w.dilation}"
                )
        return None

    def rewrite(self, graph: Graph, match: Convolution) -> Expression:
        """Cut what no window reads, split each image dim into (window, offset), contract."""
        shape = list(graph.types[match.image].shape)
        element = graph.types[match.image].element
        by_axis = {w.axis: w for w in match.windows}
        used = [
            match.image_size(by_axis[a]) * match.filter_size(by_axis[a]) if a in by_axis else n
            for a, n in enumerate(shape)
        ]
        split: list[int] = []
        for axis, n in enumerate(used):
            w = by_axis.get(axis)
            split += [n] if w is None else [match.image_size(w), match.filter_size(w)]
        types: list[TensorType] = []
        ops: list[Op] = []
        image = match.image
        if used != shape:
            types.append(TensorType(tuple(used), element))
            whole = (0,) * len(shape), (1,) * len(shape)
            ops.append(Slice(image, len(graph.types), *whole))
            image = len(graph.types)
        patches = len(graph.types) + len(types)
        types.append(TensorType(tuple(split), element))
        ops.append(Reshape(image, patches))
        forms = {w.axis: plain_map((w.image, w.filter)) for w in match.windows}
        ops.append(
            replace(
                match.op,
                sources=(patches, match.op.sources[1]),
                maps=(read_instead(match, forms), *match.op.maps[1:]),
            )
        )
        return Expression(tuple(types), tuple(ops))
