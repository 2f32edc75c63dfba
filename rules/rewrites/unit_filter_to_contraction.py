"""A convolution with a 1x1 filter is a contraction over channels.

    conv(x, w[.., 1, 1])   ->   contraction(x, w)     stride 1

Sound because a filter loop of size one only ever reads ``x[image + 0]``.
"""

from __future__ import annotations

from dataclasses import replace

from layoutopt.graph import Graph
from layoutopt.rules.rewrites.examples import convolution_example
from layoutopt.rules.rewrites.window import Convolution, convolution, loop, plain_dim_map
from layoutopt.rules.rule import Example, Expression, Refusal


class UnitFilterToContraction:
    """1x1 convolution -> matmul."""

    name = "unit-filter-to-contraction"
    summary = "1x1 convolution, stride 1 -> contraction over the channels"
    proof = "filter loops of size one are dropped: the sum has one term, at offset zero"
    normal_form = True
    examples = (
        Example(convolution_example(filter_size=1, stride=1), 0),
        Example(convolution_example(filter_size=1, stride=2), 0,
                refusal="expected stride 1, but got 2"),
    )

    def match(self, graph: Graph, op: int) -> Convolution | None:
        """Every window has a filter of one element."""
        found = convolution(graph, op)
        if found is None or any(found.filter_size(w) != 1 for w in found.windows):
            return None
        return found

    def guard(self, match: Convolution) -> Refusal | None:
        """Strided reads are another rule's work."""
        strides = [w.stride for w in match.windows if w.stride != 1 and match.image_size(w) != 1]
        return Refusal(f"expected stride 1, but got {strides[0]}") if strides else None

    def rewrite(self, graph: Graph, match: Convolution) -> Expression:
        """Read the image at the output's own place."""
        plain = plain_dim_map(match, {w.axis: (loop(w.image),) for w in match.windows})
        maps = (plain, *match.op.maps[1:])
        return Expression((), (replace(match.op, maps=maps),))
