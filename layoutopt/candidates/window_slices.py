"""Copies of windows, as a choice among slices of the image.

    y[h, w, i, c] = x[h, w * 2 + i, c]       i < 3
      ->
    y[h, w, i, c] = (i == 0 ? a : i == 1 ? b : d)[h, w, c]      a = x[h, 0::2, c], b = x[h, 1::2, c]

IREE makes vectors only of ops whose operands are read by permutations of their loops, and copies
windows number by number. Each slice is read by one; the numbers are the same.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace

from layoutopt.ir.affine import Affine, IndexMap, identity_map, plain_dims, plain_map
from layoutopt.ir.graph import Graph, GraphBuilder, Reshape, Slice, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.size import Size
from layoutopt.rules.rewrites.separable import selection_body

_MOST_TAPS = 49
"""Of a window: each is an operand, read for every element."""


def with_slices_of_windows(graph: Graph) -> Graph | Refusal:
    """The graph, one copy of windows and reshapes, with the copy as a choice among slices.

    Refused where the innermost dims of image and copy are not the same loop.
    """
    copies = [i for i, op in enumerate(graph.ops) if not isinstance(op, Reshape)]
    op = graph.ops[copies[0]] if len(copies) == 1 else None
    if not isinstance(op, Structured):
        return Refusal(f"expected one copy, but got {len(copies)} ops")
    order = plain_dims(op.result_maps[0])
    if not op.is_copy or order is None or len(order) != len(op.domain):
        return Refusal("expected a copy, but got an op that computes")
    if any(isinstance(n, Size) for n in op.domain):
        return Refusal("expected windows of known sizes, but got others")
    (read,) = op.source_maps
    taps = tuple(_tap(form, op.domain) for form in read)
    whole = [tap for tap in taps if tap is not None]
    indices = list(itertools.product(*(range(op.domain[tap]) for tap in whole)))
    if not whole or len(indices) > _MOST_TAPS or not _are_apart(read, taps):
        return Refusal(f"expected windows of at most {_MOST_TAPS} elements, none shared by dims")
    if read[-1].plain_dim != order[-1]:
        return Refusal("expected the elements of a window apart, but they lie side by side")
    number = {d: place for place, d in enumerate(order)}
    places = [next(d for d in f.dims if d != tap) for f, tap in zip(read, taps, strict=True)]
    builder = GraphBuilder(len(graph.types))
    element = op.body.arguments[0]
    parts = []
    for index in indices:
        at = dict(zip(whole, index, strict=True))
        parts.append(builder.tensor((op.domain[d] for d in places), element))
        builder.add(
            Slice(
                op.sources[0],
                parts[-1],
                tuple(f.offset + sum(c * at.get(d, 0) for d, c in f.terms) for f in read),
                tuple(f.coefficient(d) for f, d in zip(read, places, strict=True)),
            )
        )
    of_a_part = plain_map([number[d] for d in places])
    chosen = replace(
        op,
        sources=tuple(parts),
        domain=tuple(op.domain[d] for d in order),
        iterators=tuple(op.iterators[d] for d in order),
        maps=(*(of_a_part,) * len(parts), identity_map(len(order))),
        body=selection_body(indices, {a: number[tap] for a, tap in enumerate(whole)}, element),
    )
    before, after = graph.ops[: copies[0]], graph.ops[copies[0] + 1 :]
    types, ops = (*graph.types, *builder.types), (*before, *builder.ops, chosen, *after)
    return replace(graph, types=types, ops=ops, names=())


def _tap(form: Affine, domain: Sequence[int]) -> int | None:
    """The loop along a window; None where there is none."""
    return min(form.dims, key=lambda d: domain[d]) if len(form.terms) > 1 else None


def _are_apart(read: IndexMap, taps: Sequence[int | None]) -> bool:
    """Whether each loop reads along one dim, forwards, and each dim has one beside its window."""
    loops = [d for form in read for d in form.dims]
    forwards = all(c > 0 for form in read for _, c in form.terms)
    one = all(len(f.terms) == 1 + (tap is not None) for f, tap in zip(read, taps, strict=True))
    return forwards and one and len({*loops}) == len(loops)
