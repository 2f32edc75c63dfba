"""Contractions that read an image through windows, over one long dim of it.

    y[h,w,f] += x[h + i, w + j, c] * w[i,j,c,f]
      ->
    y[h,w,f] += x'[W*h + W*i + w + j, c] * w[i,j,c,f]

The memory stays as it is, and no window is copied: x' is x with all of its dims but the last, or
the last few, flattened, W elements of the image to a row. Loops of one step go. With one filter
element at a time the loops inside a tile are those of a matmul.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

from layoutopt.ir.affine import IndexMap, affine, plain_dims
from layoutopt.ir.graph import FromTensor, Graph, GraphBuilder, Op, Reshape, Structured
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType

_LEAST_TERMS = 3
"""Terms of the flat index of the image. IREE takes two for a convolution of one dim, and gives it a
batch loop that the schedule does not know."""


def over_flat_image(
    op: Structured, types: tuple[TensorType, ...], kept: int = 1
) -> Structured | None:
    """The op with the flat image's map, its tensors still those of ``op``.

    ``kept``: how many of the image's last dims stay as they are. None where sizes are open, where
    the filter or the result are larger than what the loops visit, or where the index is one of a
    window over one dim.
    """
    shape = types[op.sources[0]].shape
    if any(isinstance(n, Size) for n in (*op.domain, *shape)):
        return None
    if any(plain_dims(m) is None for m in op.maps[1:]) or _has_unvisited_parts(op, types):
        return None
    whole = _without_unit_loops(replace(op, maps=(_flat_map(op, shape, kept), *op.maps[1:])))
    return whole if len(whole.maps[0][0].terms) >= _LEAST_TERMS else None


def with_merged_sums(op: Structured) -> Structured:
    """An op of `over_flat_image` where the last two dims of the image are one, if they may be.

    That is, where both are summed over and lie as adjacent in the filter.
    """
    image, filters, result = op.maps
    if len(image) < 3:
        return op
    outer, inner = image[-2].plain_dim, image[-1].plain_dim
    if outer is None or inner is None or not {outer, inner} <= {*op.reduction_dims}:
        return op
    if (image[-2], image[-1]) not in pairwise(filters):
        return op
    left = [d for d in range(len(op.domain)) if d != inner]
    number = {d: i for i, d in enumerate(left)}
    sizes = [n * (op.domain[inner] if d == outer else 1) for d, n in enumerate(op.domain)]
    maps = image[:-1], tuple(f for f in filters if f != image[-1]), result
    return replace(
        op,
        domain=tuple(sizes[d] for d in left),
        iterators=tuple(op.iterators[d] for d in left),
        maps=tuple(tuple(f.renamed(number) for f in m) for m in maps),
    )


def with_flat_images(graph: Graph, chosen: Callable[[Op], Structured | None]) -> Graph:
    """The graph with ops of `over_flat_image` for those that have one ``chosen``."""
    builder = GraphBuilder(len(graph.types))
    ops: list[Op] = []
    for op in graph.ops:
        found = chosen(op)
        if found is None:
            ops.append(op)
            continue
        before = len(builder.ops)
        write_over_flat_image(found, graph, builder)
        ops += builder.ops[before:]
    return Graph((*graph.types, *builder.types), tuple(ops), graph.inputs, graph.outputs)


def write_over_flat_image(op: Structured, graph: Graph, builder: GraphBuilder) -> None:
    """Add an op of `over_flat_image`, with the reshapes around it; its result is the first op's."""
    image, filters = op.sources
    shape = graph.types[image].shape

    def reshaped(tensor: int, wanted: tuple[int, ...]) -> int:
        made = builder.tensor(wanted, graph.types[tensor].element)
        builder.add(Reshape(tensor, made))
        return made

    sizes = [_sizes(m, op.domain) for m in op.maps[1:]]
    kept = [op.domain[f.dims[0]] if f.dims else 1 for f in op.maps[0][1:]]
    flat = reshaped(image, (math.prod(shape) // math.prod(kept), *kept))
    panels = reshaped(filters, sizes[0])
    result = builder.tensor(sizes[1], graph.types[op.results[0]].element)
    init = op.inits[0]
    if isinstance(init, FromTensor):
        init = FromTensor(reshaped(init.tensor, sizes[1]))
    builder.add(
        replace(
            op,
            sources=(flat, panels),
            inits=(init,),
            results=(result,),
        )
    )
    builder.add(Reshape(result, op.results[0]))


def _has_unvisited_parts(op: Structured, types: tuple[TensorType, ...]) -> bool:
    """Whether filter or result are larger than what the loops visit."""
    return any(
        types[t].shape != tuple(op.domain[f.dims[0]] for f in m)
        for t, m in zip((op.sources[1], op.results[0]), op.maps[1:], strict=True)
    )


def _flat_map(op: Structured, shape: tuple[int, ...], kept: int) -> IndexMap:
    """Where the image is read once all dims but the last few are one."""
    terms: list[tuple[int, int]] = []
    offset = 0
    for axis, form in enumerate(op.source_maps[0][:-kept]):
        step = math.prod(shape[axis + 1 : -kept])
        terms += [(d, c * step) for d, c in form.terms]
        offset += form.offset * step
    return (affine(terms, offset), *op.source_maps[0][-kept:])


def _without_unit_loops(op: Structured) -> Structured:
    """The op over loops of several steps; the dims of one element of filter and result go."""
    kept = [d for d, n in enumerate(op.domain) if n != 1]
    number = {d: i for i, d in enumerate(kept)}

    def live(index_map: IndexMap) -> IndexMap:
        return tuple(f.renamed(number) for f in index_map if f.plain_dim in number)

    image: IndexMap = tuple(f.renamed(number) for f in op.source_maps[0])
    return replace(
        op,
        domain=tuple(op.domain[d] for d in kept),
        iterators=tuple(op.iterators[d] for d in kept),
        maps=(image, *(live(m) for m in op.maps[1:])),
    )


def _sizes(index_map: IndexMap, domain: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(domain[form.dims[0]] for form in index_map)
