"""Packings of a user's own: a callable, or the patterns of a target file."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Iterator

from layoutopt.candidates.packing.tiling import (
    Fit,
    Packing,
    PackingRule,
    fits,
    ordered,
    plain_loops,
    tiled,
    tiled_layout,
)
from layoutopt.errors import InputError
from layoutopt.ir.graph import Structured
from layoutopt.ir.named import named_op
from layoutopt.ir.roles import is_windowed, roles
from layoutopt.ir.types import TensorType
from layoutopt.profiles.op_pattern import ROLES, OpPattern


def load_rule(name: str) -> PackingRule:
    """The callable ``package.module:name``. Raises InputError where there is none."""
    module, _, attribute = name.partition(":")
    try:
        found = getattr(importlib.import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"packing.custom '{name}'",
            "a callable, as package.module:name",
            str(error),
            "correct the name or put its folder on PYTHONPATH",
        ) from error
    rule: PackingRule = found
    return rule


def meets(pattern: OpPattern, op: Structured, types: tuple[TensorType, ...], name: str) -> bool:
    """Whether a contraction, by its name in the report, meets all conditions of a pattern."""
    r = roles(op)
    loops = {"batch": r.batch, "m": r.m, "n": r.n, "k": (*r.k, *r.window)}
    named = named_op(op)
    elements = tuple(types[t].element for t in (*op.sources, *op.results))
    return (
        pattern.kind in (None, "convolution" if is_windowed(op) else "contraction")
        and pattern.named in ("", named.name if named is not None else None)
        and (not pattern.name or re.fullmatch(pattern.name, name) is not None)
        and pattern.types in ((), elements)
        and all(
            math.prod(op.domain[d] for d in loops[role]) in sizes for role, sizes in pattern.sizes
        )
    )


def checked(packing: Packing, op: Structured, types: tuple[TensorType, ...]) -> Packing:
    """A user's packing of a contraction. Raises InputError where it does not fit the op."""
    wholes: dict[int, int] = {}
    tensors = (*op.sources, *op.results)
    for layout, tensor, index_map in zip(packing.layouts, tensors, op.maps, strict=True):
        shape = types[tensor].shape
        wanted = f"a layout of a tensor of shape {list(shape)}"
        if layout.rank != len(shape):
            raise _misfit(wanted, str(layout))
        for axis, (form, whole) in enumerate(
            zip(index_map, layout.padded_shape(shape), strict=True)
        ):
            loop = form.plain_dim
            fixed = shape[axis] if loop is None else wholes.setdefault(loop, whole)
            if whole != fixed:
                raise _misfit(f"{wanted} with tiles that make dim {axis} {fixed}", str(layout))
    return packing


def _misfit(expected: str, got: str) -> InputError:
    advice = "return no packing for contractions that it does not suit"
    return InputError("custom packing", expected, got, advice)


def patterned(
    pattern: OpPattern, op: Structured, types: tuple[TensorType, ...]
) -> Iterator[Packing]:
    """The packings of a pattern, nothing where none of its tiles fits a loop."""
    for fit in fits(pattern.mmt4d):
        yield from _fitted(pattern, op, types, fit)


def _fitted(
    pattern: OpPattern, op: Structured, types: tuple[TensorType, ...], fit: Fit
) -> Iterator[Packing]:
    r = roles(op)
    loops = {"batch": r.batch, "m": r.m, "n": r.n, "k": r.k}
    tiles = {
        role: tiled(op, plain_loops(op, loops[role]), size, fit) for role, size in pattern.tile
    }
    if not any(tiles.values()):
        return
    named = (*pattern.inner, *(role for role in tiles if role not in pattern.inner))
    inner = tuple(tile for role in named for tile in tiles.get(role, ()))
    layouts = []
    for index_map, tensor, chosen in zip(
        op.maps, (*op.sources, *op.results), pattern.outer, strict=True
    ):
        first = tuple(d for role in ROLES if role not in chosen for d in loops[role])
        order = (*first, *(d for role in chosen for d in loops[role]), *r.window)
        outer = ordered(index_map, order)
        layouts.append(tiled_layout(index_map, types[tensor], outer, inner))
    lhs, rhs, result = layouts
    yield Packing(lhs, rhs, result, pattern.mmt4d)
