"""Scatter: tensors laid out at strided positions of a larger one."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Scatter:
    """Source i at ``offsets[i] + strides * index``, ``background`` everywhere else.

    No two sources touch one place. ``background`` is MLIR text; None where the sources leave no
    place free. ``computed``: one pass over the result that finds each element by index arithmetic,
    in place of a fill and one strided insert per source.
    """

    sources: tuple[int, ...]
    result: int
    offsets: tuple[tuple[int, ...], ...]
    strides: tuple[int, ...]
    background: str | None
    computed: bool = False

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return self.sources

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return (self.result,)
