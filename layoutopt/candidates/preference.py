"""The layouts that contractions and convolutions would like, read off the roles of their loops."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise

from layoutopt.candidates.packing.tiling import ordered
from layoutopt.ir.affine import IndexMap
from layoutopt.ir.canonical_layout import canonical
from layoutopt.ir.graph import Structured
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.roles import Roles, is_windowed, roles
from layoutopt.ir.types import TensorType


def lhs_layouts(op: Structured, kind: TensorType) -> tuple[Layout, ...]:
    """Layouts to try for the first input, the model's own first."""
    r = roles(op)
    steps = _steps(op, r)
    k = tuple(d for d in r.k if d not in steps)
    orders = [(*r.m, *steps, *r.batch, *r.window, *k)]
    if _is_grouped(r):
        orders.append((*r.m, *steps, *r.window, *k, *r.batch))
    if not is_windowed(op):
        orders = [(*r.batch, *r.m, *r.k), *orders, (*r.batch, *r.k, *r.m)]
    return _layouts(op.source_maps[0], kind, orders)


def result_layouts(op: Structured, kind: TensorType) -> tuple[Layout, ...]:
    """Layouts to try for the result, the model's own first."""
    r = roles(op)
    orders = [(*r.m, *r.batch, *r.n)]
    if _is_grouped(r):
        orders.append((*r.m, *r.n, *r.batch))
    if not is_windowed(op):
        orders = [(*r.batch, *r.m, *r.n), *orders, (*r.batch, *r.n, *r.m)]
    return _layouts(op.result_maps[0], kind, orders)


def rhs_layouts(op: Structured, kind: TensorType) -> tuple[Layout, ...]:
    """Layouts to try for a second input that is computed, the model's own first."""
    r = roles(op)
    k = (*r.window, *r.k)
    orders = [(*r.batch, *k, *r.n), (*r.batch, *r.n, *k), (*r.n, *r.batch, *k)]
    if r.window and not (r.n or r.k):
        orders = [(*r.window, *r.batch)]  # depthwise
    elif _is_grouped(r):
        orders.append((*k, *r.n, *r.batch))
    return _layouts(op.source_maps[1], kind, orders)


def weight_layout(
    op: Structured, kind: TensorType, lhs: Layout, result: Layout, types: tuple[TensorType, ...]
) -> Layout:
    """The layout of constant weights that fits the layouts of input and result.

    Loops that the weights share with another operand keep that operand's order, so that they
    merge; filter loops come first where the image has its channels last.
    """
    r = roles(op)
    k = in_order(op.source_maps[0], lhs, (*r.window, *r.k))
    n = in_order(op.result_maps[0], result, r.n)
    batch = in_order(op.source_maps[0], lhs, r.batch)
    if not is_windowed(op):
        last = innermost_loop(op.result_maps[0], result, op.domain)
        order = (*batch, *n, *k) if last in r.m else (*batch, *k, *n)
        return _layouts(op.source_maps[1], kind, [order])[-1]
    if lhs.is_row_major:
        return row_major(len(kind.shape))
    if not r.batch:
        order = (*r.window, *r.k, *n)
    elif r.n or r.k:
        last = innermost_loop(op.result_maps[0], result, op.domain)
        order = (*batch, *n, *r.window, *r.k)
        if last in r.batch:
            order = (*r.window, *r.k, *n, *batch)
    else:
        order = (*r.window, *batch)
    return _layouts(op.source_maps[1], kind, [order])[-1]


def _steps(op: Structured, found: Roles) -> tuple[int, ...]:
    """Loops summed over that step through pixels that are one in the image's window."""
    pairs = pairwise(op.source_maps[0])
    return tuple(b.dims[0] for a, b in pairs if len(a.terms) > 1 and b.plain_dim in found.k)


def _is_grouped(found: Roles) -> bool:
    """Whether a convolution has groups of several channels or features."""
    return bool(found.window and found.batch and (found.n or found.k))


def groups_match(op: Structured, layouts: Sequence[Layout]) -> bool:
    """Whether groups are innermost in all of these operands and results of a convolution, or none.

    ``layouts``: in the order of the op's maps. True where no group has several channels.
    """
    found = roles(op)
    if not _is_grouped(found):
        return True
    pairs = zip(op.maps, layouts, strict=True)
    return len({innermost_loop(m, layout, op.domain) in found.batch for m, layout in pairs}) == 1


def _layouts(
    index_map: IndexMap, kind: TensorType, orders: list[tuple[int, ...]]
) -> tuple[Layout, ...]:
    found = [row_major(len(kind.shape))]
    for order in orders:
        layout = canonical(kind.shape, Layout(ordered(index_map, order)))
        if layout not in found:
            found.append(layout)
    return tuple(found)


def in_order(index_map: IndexMap, layout: Layout, loops: tuple[int, ...]) -> tuple[int, ...]:
    """Loops as an operand in this layout has them; those that it does not read come last."""
    read = chain.from_iterable(index_map[d].dims for d in layout.outer_dims_perm)
    ordered = tuple(dict.fromkeys(d for d in read if d in loops))
    return (*ordered, *(d for d in loops if d not in ordered))


def innermost_loop(index_map: IndexMap, layout: Layout, domain: tuple[int, ...]) -> int | None:
    """The loop that steps through neighbours in memory; None where all have one step."""
    for axis in reversed(layout.outer_dims_perm):
        dims = index_map[axis].dims
        if dims and domain[dims[0]] != 1:
            return dims[0]
    return None
