"""``iree_linalg_ext.gather``: slices of a tensor at positions.

gather(x:L, i) -> y:L'        where L orders and tiles the dims of a slice, and so does L'
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutopt.ir.by_index import ByIndex, dims_of
from layoutopt.ir.extension import Evaluated, Occurrence
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.size_values import empty_text
from layoutopt.ir.types import Array, TensorType


@dataclass(frozen=True, slots=True)
class GatherByIndex(ByIndex):
    """``sources``: the table and the indices."""

    mlir_name = "iree_linalg_ext.gather"

    @property
    def tables(self) -> tuple[int, ...]:
        """What is looked up."""
        return (self.sources[0],)

    @property
    def rows(self) -> int:
        """The result."""
        return self.results[0]

    @property
    def indices(self) -> int:
        """Where the slices are."""
        return self.sources[1]

    @classmethod
    def operands(cls, operation: Any) -> Sequence[Any]:
        """The table and the indices; the init of the result is never read."""
        return list(operation.operands)[:2]

    @classmethod
    def read(cls, found: Occurrence) -> GatherByIndex | Refusal:
        """The op."""
        made = cls(found.sources, found.results, dims_of(found.operation))
        return found.without_array() or made.unknown(found.types) or made

    @classmethod
    def examples(cls) -> tuple[tuple[GatherByIndex, tuple[TensorType, ...]], ...]:
        """Rows, slices of two dims, and numbers by two positions."""
        given = (
            ((3,), (6, 5), (0,), "f32"),
            ((2, 3), (5, 4, 6), (0,), "f16"),
            ((5,), (4, 3, 7), (1, 0), "i64"),
        )
        return tuple(
            (
                cls((0, 1), (2,), dims),
                (
                    TensorType(shape, element),
                    TensorType((*count, len(dims)), "i32"),
                    TensorType((*count, *shape[len(dims) :]), element),
                ),
            )
            for count, shape, dims, element in given
        )

    def emit(self, types: Sequence[TensorType]) -> list[str]:
        """The named op."""
        (table, indices), (result,) = self.sources, self.results
        kind = types[result]
        return [
            f"  %t{result}_empty = {empty_text(kind)}",
            f"  %t{result} = {self.mlir_name} dimension_map = {list(self.dims)} "
            f"ins(%t{table}, %t{indices} : {types[table]}, {types[indices]}) "
            f"outs(%t{result}_empty : {kind}) -> {kind}",
        ]

    def evaluate(self, values: Sequence[Array], types: Sequence[TensorType]) -> tuple[Array, ...]:
        """One slice after another."""
        table, indices = values
        found = table[self.places(indices, types)]
        return (np.asarray(found.reshape(types[self.results[0]].shape), order="C"),)

    def error(self, made: Evaluated) -> tuple[Array | None, ...]:
        """That of the table; an index has to be exact."""
        if made.errors[1] is not None:
            return (np.full(made.results[0].shape, np.inf),)
        if made.errors[0] is None:
            return (None,)
        table = np.broadcast_to(made.errors[0], made.values[0].shape)
        return self.evaluate((table, made.values[1]), made.types)
