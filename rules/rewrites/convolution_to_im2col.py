"""A convolution is a contraction over an im2col matrix of its windows.

    conv(x, w)   ->   contraction(col, w)      col[n, oh, ow, kh, kw, c] = x[n, s*oh + d*kh, ..]

Sound because the copy holds, for every output place, exactly the elements that the window reads.
Whether the copy pays, in memory and in time, is for prices to say.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from layoutopt.ir.affine import IndexMap, identity_map, plain_map
from layoutopt.ir.graph import Graph, IteratorType, Structured, Uninitialized
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import copy_body
from layoutopt.ir.types import TensorType
from layoutopt.rules.rewrites.examples import convolution_example, depthwise_example
from layoutopt.rules.rewrites.window import Convolution, convolution
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression, over_budget

_ELEMENTS = 1 << 31
"""Elements of the im2col matrix at most: a benchmark of more of them does not fit into memory."""


@dataclass(frozen=True, slots=True)
class Im2col:
    """The loops that the im2col matrix keeps: parallel ones, then the ones summed over."""

    convolution: Convolution
    loops: tuple[int, ...]
    products: int
    """Of the convolution of the same result that has fewest."""


class ConvolutionToIm2col:
    """Convolution -> copy of its windows and contraction."""

    name = "convolution-to-im2col"
    summary = "convolution -> im2col matrix + contraction"
    argument = "the copy evaluates the window's indexing map; the sum runs over the same products"
    evidence = Evidence.PROVED
    exactness = Exactness.BIT_EXACT
    canonicalizes = False
    examples = (
        Example(convolution_example(filter_size=3, stride=2), 0),
        Example(depthwise_example(), 0),
        Example(
            convolution_example(filter_size=32, stride=1, image=1024),
            0,
            refusal="expected at most 2147483648 elements of the im2col matrix, the budget of "
            "memory for a benchmark, but got 6442450944",
        ),
    )

    def match(self, graph: Graph, op: int) -> Im2col | None:
        """Any convolution with a filter of more than one element."""
        found = convolution(graph, op)
        if found is None or found.has_unit_filter:
            return None
        filters = {w.filter for w in found.windows}
        read = {d for form in found.op.source_maps[0] for d in form.dims}
        reduced = found.op.reduction_dims
        parallel = [form.dims[0] for form in found.op.result_maps[0] if form.dims[0] in read]
        inside = [d for d in reduced if d in filters]
        channels = [d for d in reduced if d in read and d not in filters]
        others = (convolution(graph, i) for i in graph.producers[found.op.results[0]])
        fewest = min(math.prod(c.op.domain) for c in (found, *others) if c is not None)
        return Im2col(found, (*parallel, *inside, *channels), fewest)

    def guard(self, match: Im2col) -> Refusal | None:
        """The copy has to fit somewhere, and to hold no zeros that another one has not."""
        products = math.prod(match.convolution.op.domain)
        if products > match.products:
            return Refusal(
                f"expected no convolution of the same result with fewer products than {products}, "
                f"but there is one with {match.products}"
            )
        elements = math.prod(match.convolution.op.domain[d] for d in match.loops)
        return over_budget(
            elements, _ELEMENTS, "elements of the im2col matrix", "memory for a benchmark"
        )

    def rewrite(self, graph: Graph, match: Im2col) -> Expression:
        """Copy the windows, then contract."""
        op = match.convolution.op
        element = graph.types[op.sources[0]].element
        number = {d: i for i, d in enumerate(match.loops)}
        sizes = tuple(op.domain[d] for d in match.loops)
        column = len(graph.types)
        read: IndexMap = tuple(f.renamed(number) for f in op.source_maps[0])
        copy = Structured(
            (op.sources[0],),
            (Uninitialized(),),
            (column,),
            sizes,
            (IteratorType.PARALLEL,) * len(sizes),
            (read, identity_map(len(sizes))),
            copy_body(element),
        )
        contraction = replace(
            op, sources=(column, op.sources[1]), maps=(plain_map(match.loops), *op.maps[1:])
        )
        return Expression((TensorType(sizes, element),), (copy, contraction))
