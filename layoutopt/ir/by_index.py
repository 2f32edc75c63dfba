"""Ops on slices of a table by number: ``iree_linalg_ext.scatter`` and ``gather``.

op(table:L, indices, rows:L')        where L orders and tiles the dims of a slice, and so does L'

The first dims of the table are looked up; the first dims of the rows count the lookups. Both stay
outermost, in order and without tiles.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutopt.ir.extension import EvaluatedExtension
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.neutral import Padding
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.types import Array, TensorType


@dataclass(frozen=True, slots=True)
class ByIndex(EvaluatedExtension):
    """``dims``: the dim of the table that each number of an index is of."""

    dims: tuple[int, ...] = (0,)

    @property
    @abstractmethod
    def tables(self) -> tuple[int, ...]:
        """Tensors whose first dims are looked up."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """The tensor whose first dims count the lookups."""

    @property
    @abstractmethod
    def indices(self) -> int:
        """The tensor of the numbers, those of one index along its last dim."""

    def positions(self, types: Sequence[TensorType]) -> dict[int, tuple[int, ...]]:
        """The indices, by the dims of the table that they are of."""
        shape = types[self.tables[0]].shape
        return {self.indices: tuple(shape[d] for d in self.dims)}

    def loops(self, types: Sequence[TensorType]) -> Mapping[int, Sequence[Hashable]]:
        """The dims that are looked up, those that count the lookups, and those of a slice."""
        depth, counted = len(self.dims), self._first(self.rows, types)
        counts = [("count", d) for d in range(counted)]
        slices = [("slice", d) for d in range(len(types[self.rows].shape) - counted)]
        table = (*(("lookup", d) for d in range(depth)), *slices)
        parts: list[Hashable] = [None] * (len(types[self.indices].shape) - counted)
        return {
            **dict.fromkeys(self.tables, table),
            self.rows: [*counts, *slices],
            self.indices: [*counts, *parts],
        }

    def unknown(self, types: Sequence[TensorType]) -> Refusal | None:
        """Why the slices are not whole slices of the first dims, None where they are."""
        table, rows = types[self.tables[0]].shape, types[self.rows].shape
        depth, indices = len(self.dims), types[self.indices].shape
        counted = len(rows) - len(table) + depth
        whole = counted >= 0 and rows[counted:] == table[depth:]
        if not whole or sorted(self.dims) != list(range(depth)):
            return Refusal(
                f"expected whole slices of the first dims, but got {self.dims} of {table}"
            )
        if indices not in (rows[:counted], (*rows[:counted], depth)) or len(indices) < counted:
            return Refusal(f"expected an index for each slice, but got {indices}")
        if len(indices) == counted and depth > 1:
            return Refusal(f"expected indices of {depth} numbers, but got {indices}")
        return None

    def places(self, indices: Array, types: Sequence[TensorType]) -> tuple[Array, ...]:
        """For each dim of the table that is looked up, the numbers as one row.

        Those outside of the table are moved inside: they have no meaning.
        """
        numbers = indices.reshape(-1, len(self.dims))
        shape = types[self.tables[0]].shape
        return tuple(
            np.clip(numbers[:, self.dims.index(d)].astype(np.int64), 0, shape[d] - 1)
            for d in range(len(self.dims))
        )

    def propagate(
        self, types: Sequence[TensorType], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """Tables and rows share the layout of a slice; what pads a result may be anything."""
        found = {t: row_major(len(types[t].shape)) for t in (*self.inputs, *self.outputs)}
        if tensor == self.indices:
            found[tensor] = layout
            return self.refusal(found, types) or found
        first = self._first(tensor, types)
        if not _begins(layout, first):
            return self._unordered(layout, first)
        for t in (*self.tables, self.rows):
            found[t] = _beside(layout, first, self._first(t, types))
            if t in self.outputs and found[t].pads(types[t].shape):
                found[t] = found[t].padded_with(Padding.ANY)
        return self.refusal(found, types) or found

    def refusal(self, layouts: Assignment, types: Sequence[TensorType]) -> Refusal | None:
        """Row-major indices, one layout of slices, and free padding of results."""
        if not layouts[self.indices].is_row_major:
            return Refusal(f"expected row-major indices, but got {layouts[self.indices]}")
        table = layouts[self.tables[0]]
        depth = len(self.dims)
        if not _begins(table, depth):
            return self._unordered(table, depth)
        for t in (*self.tables, self.rows):
            own = layouts[t]
            wanted = _beside(table, depth, self._first(t, types))
            if own.padded_with(wanted.padding) != wanted:
                return Refusal(f"expected one layout of slices, but got {table}, {own}")
            free = t not in self.outputs or own.padding is Padding.ANY
            if not free and own.pads(types[t].shape):
                return Refusal(
                    f"expected padding of any value behind {self.mlir_name}, but got {own}"
                )
        return None

    def _first(self, tensor: int, types: Sequence[TensorType]) -> int:
        """How many dims of a table or of the rows are in front of those of a slice."""
        depth = len(self.dims)
        if tensor in self.tables:
            return depth
        return len(types[tensor].shape) - len(types[self.tables[0]].shape) + depth

    def _unordered(self, layout: Layout, first: int) -> Refusal:
        return Refusal(
            f"expected the first {first} dims of {self.mlir_name} outermost, but got {layout}"
        )


def dims_of(operation: Any) -> tuple[int, ...]:
    """The ``dimension_map`` of an operation."""
    text = str(operation.attributes["dimension_map"])
    return tuple(int(n) for n in text[text.index(":") + 1 : text.index(">")].split(","))


def _begins(layout: Layout, first: int) -> bool:
    """Whether the first dims are outermost, in order and without tiles."""
    tiled = any(d < first for d in layout.inner_dims_pos)
    return layout.outer_dims_perm[:first] == tuple(range(first)) and not tiled


def _beside(layout: Layout, first: int, wanted: int) -> Layout:
    """The layout of a tensor with another number of dims in front of those of the slice."""

    def moved(dims: Iterable[int]) -> tuple[int, ...]:
        return tuple(d - first + wanted for d in dims)

    outer = (*range(wanted), *moved(layout.outer_dims_perm[first:]))
    return Layout(outer, moved(layout.inner_dims_pos), layout.inner_tiles, layout.padding)
