"""Scatter: tensors laid out at strided positions of a larger one."""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.ir.arity import Variadic


@dataclass(frozen=True, slots=True)
class Scatter(Variadic):
    """Source i at ``offsets[i] + strides * index``, ``background`` everywhere else.

    No two sources touch one place. ``background`` is MLIR text; None where the sources leave no
    place free. ``computed``: one pass over the result that finds each element by index arithmetic,
    in place of a fill and one strided insert per source.
    """

    offsets: tuple[tuple[int, ...], ...]
    strides: tuple[int, ...]
    background: str | None
    computed: bool = False
