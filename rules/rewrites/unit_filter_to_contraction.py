"""A convolution with a 1x1 filter is a contraction over channels.

    conv(x, w[.., 1, 1])   ->   contraction(x, w)     stride 1

Sound because a filter loop of size one only ever reads ``x[image + 0]``, and the image has no more
elements than the output.
"""

from __future__ import annotations

from dataclasses import replace

from layoutopt.ir.affine import dim
from layoutopt.ir.graph import Graph
from layoutopt.ir.refusal import Refusal
from layoutopt.rules.rewrites.examples import convolution_example
from layoutopt.rules.rewrites.window import Convolution, convolution, read_instead
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression


class UnitFilterToContraction:
    """1x1 convolution -> matmul."""

    name = "unit-filter-to-contraction"
    summary = "1x1 convolution, stride 1 -> contraction over the channels"
    argument = "filter loops of size one are dropped: the sum has one term, at offset zero"
    evidence = Evidence.PROVED
    exactness = Exactness.BIT_EXACT
    canonicalizes = True
    examples = (
        Example(convolution_example(filter_size=1, stride=1), 0),
        Example(
            convolution_example(filter_size=1, stride=2),
            0,
            refusal="expected stride 1, but got 2",
        ),
        Example(
            convolution_example(filter_size=1, stride=1, margin=1),
            0,
            refusal="expected an image that is read whole, but only 4 of 5 elements are, "
            "along dim 2",
        ),
    )

    def match(self, graph: Graph, op: int) -> Convolution | None:
        """Every window has a filter of one element."""
        found = convolution(graph, op)
        return found if found is not None and found.has_unit_filter else None

    def guard(self, match: Convolution) -> Refusal | None:
        """Skipped elements are another rule's work."""
        for w in match.windows:
            if w.stride != 1 and match.image_size(w) != 1:
                return Refusal(f"expected stride 1, but got {w.stride}")
        for w in match.windows:
            if match.image_size(w) != w.axis_size:
                return Refusal(
                    f"expected an image that is read whole, but only {match.image_size(w)} of "
                    f"{w.axis_size} elements are, along dim {w.axis}"
                )
        return None

    def rewrite(self, graph: Graph, match: Convolution) -> Expression:
        """Read the image at the output's own place."""
        plain = read_instead(match, {w.axis: (dim(w.image),) for w in match.windows})
        return Expression((), (replace(match.op, maps=(plain, *match.op.maps[1:])),))
