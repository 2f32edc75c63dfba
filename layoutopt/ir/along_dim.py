"""Ops that work along one dim, on each row of the other dims by itself: softmax, scans, sorts.

op(x:L) -> y:L        where the dim has no tile, and the padding of y holds anything
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Self

from layoutopt.ir.extension import EvaluatedExtension
from layoutopt.ir.layout import Layout
from layoutopt.ir.neutral import Padding
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class AlongDim(EvaluatedExtension):
    """All tensors have the same dims, of which only ``dim`` may differ in size.

    A row of padding gives a row of padding: a kind must be defined for any numbers.
    """

    dim: int = 0

    @property
    def without_dim(self) -> tuple[int, ...]:
        """Tensors that have all the other dims and not this one."""
        return ()

    def loops(self, types: Sequence[TensorType]) -> Mapping[int, Sequence[Hashable]]:
        """All dims but the one."""
        every = range(len(types[self._whole()].shape))
        whole = [None if d == self.dim else d for d in every]
        reduced = [d for d in every if d != self.dim]
        tensors = (*self.inputs, *self.outputs)
        return {t: reduced if t in self.without_dim else whole for t in tensors}

    def propagate(
        self, types: Sequence[TensorType], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """All have one layout; what pads a result is no longer what padded the input."""
        reduced = self.without_dim
        whole = with_dim(layout, self.dim) if tensor in reduced else layout
        if self.dim in whole.inner_dims_pos:
            return self._tiled(whole)
        found: dict[int, Layout] = {}
        for t in (*self.inputs, *self.outputs):
            found[t] = without_dim(whole, self.dim) if t in reduced else whole
            if t in self.outputs and found[t].pads(types[t].shape):
                found[t] = found[t].padded_with(Padding.ANY)
        return self.refusal(found, types) or found

    def refusal(self, layouts: Assignment, types: Sequence[TensorType]) -> Refusal | None:
        """The dim is whole, the places are the same, the padding of the results is free."""
        whole = layouts[self._whole()]
        if self.dim in whole.inner_dims_pos:
            return self._tiled(whole)
        for t in (*self.inputs, *self.outputs):
            own = layouts[t]
            wanted = without_dim(whole, self.dim) if t in self.without_dim else whole
            if own.padded_with(wanted.padding) != wanted:
                return Refusal(
                    f"expected one layout around {self.mlir_name}, but got {own}, {whole}"
                )
            free = t not in self.outputs or own.padding is Padding.ANY
            if not free and own.pads(types[t].shape):
                return Refusal(
                    f"expected padding of any value behind {self.mlir_name}, but got {own}"
                )
        return None

    def moved(self, layouts: Mapping[int, Layout]) -> Self:
        """The dim where it lies in memory."""
        return replace(self, dim=layouts[self._whole()].outer_dims_perm.index(self.dim))

    def _whole(self) -> int:
        """The first result that has the dim."""
        return next(t for t in self.outputs if t not in self.without_dim)

    def _tiled(self, layout: Layout) -> Refusal:
        return Refusal(
            f"expected no tile along dim {self.dim} of {self.mlir_name}, but got {layout}"
        )


def without_dim(layout: Layout, dim: int) -> Layout:
    """The layout of a tensor that lacks a dim without a tile."""

    def left(dims: Sequence[int]) -> tuple[int, ...]:
        return tuple(d - (d > dim) for d in dims if d != dim)

    return replace(
        layout,
        outer_dims_perm=left(layout.outer_dims_perm),
        inner_dims_pos=left(layout.inner_dims_pos),
    )


def with_dim(layout: Layout, dim: int) -> Layout:
    """The layout of a tensor that has one dim more, which is at its own place."""
    outer = [d + (d >= dim) for d in layout.outer_dims_perm]
    return replace(
        layout,
        outer_dims_perm=(*outer[:dim], dim, *outer[dim:]),
        inner_dims_pos=tuple(d + (d >= dim) for d in layout.inner_dims_pos),
    )
