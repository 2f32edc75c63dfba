"""Columns padded to whole panels of weights, where no panel divides them.

    y[m, n] += x[m, k] * w[k, n]   ->   y[m, n1, n0] += x[m, k] * w'[n1, k, n0]    n = 16 * n1 + n0

A thousand classes are no whole number of vectors. A loop of its own for those that are left takes
them one by one, or keeps the columns out of the registers; columns of padding are zeros in the
weights, and cost what they are.

As a layout: the columns have a tile of one panel, which stays where it is.
"""

from __future__ import annotations

from dataclasses import replace

from layoutopt.candidates.preference import innermost_loop
from layoutopt.ir.graph import Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.ir.roles import roles
from layoutopt.ir.size import Size
from layoutopt.ir.types import is_float

_LEAST_USED = 7 / 8
"""Of the columns that are computed: the others are padding."""


def padded_columns(width: int, columns: int) -> int | None:
    """The width that columns are padded to for whole panels.

    None where panels divide them, where their number is open, and where too much would be added.
    """
    if isinstance(width, Size) or width % columns == 0:
        return None
    size = -(-width // columns) * columns
    return size if size * _LEAST_USED <= width else None


def in_whole_panels(op: Structured, element: str, made: Layout, columns: int) -> Layout | None:
    """The layout of a result whose columns are padded to whole panels.

    ``element``: its type. ``made``: its layout otherwise. ``columns``: of a panel. None where
    nothing is to pad, or where columns do not lie last.
    """
    forms = op.result_maps[0]
    innermost = innermost_loop(forms, made, op.domain)
    if made.is_tiled or innermost not in roles(op).n:
        return None
    padded = padded_columns(op.domain[innermost], columns)
    axis = next((a for a, form in enumerate(forms) if form.plain_dim == innermost), None)
    if padded is None or axis is None:
        return None
    outer = (*(a for a in made.outer_dims_perm if a != axis), axis)
    padding = Padding.ANY if is_float(element) else Padding.ZERO
    return replace(
        made,
        outer_dims_perm=outer,
        inner_dims_pos=(axis,),
        inner_tiles=(columns,),
        padding=padding,
    )
