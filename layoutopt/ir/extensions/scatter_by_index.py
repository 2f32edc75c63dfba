"""``iree_linalg_ext.scatter``: slices put or added into a tensor at positions.

scatter(u:L', i, x:L) -> y:L        where L orders and tiles the dims of a slice
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from layoutopt.ir.by_index import ByIndex, dims_of
from layoutopt.ir.extension import Evaluated, Occurrence
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.region import (
    COMBINERS,
    EXTREMES,
    PRODUCTS,
    SUMS,
    combiner_of,
    known_errors,
    region_lines,
    yielded_argument,
)
from layoutopt.ir.types import Array, TensorType, roundoff


@dataclass(frozen=True, slots=True)
class ScatterByIndex(ByIndex):
    """``sources``: updates, indices and what they go into. ``combiner``: None where they replace.

    ``unique``: no position comes twice, or the result has no meaning there.
    """

    combiner: str | None = None
    unique: bool = True

    mlir_name = "iree_linalg_ext.scatter"

    @property
    def tables(self) -> tuple[int, ...]:
        """What the updates go into, and the result."""
        return (self.sources[2], self.results[0])

    @property
    def rows(self) -> int:
        """The updates."""
        return self.sources[0]

    @property
    def indices(self) -> int:
        """Where they go."""
        return self.sources[1]

    @classmethod
    def read(cls, found: Occurrence) -> ScatterByIndex | Refusal:
        """The op; its region has to be one commutative op, or to yield the update."""
        if len(found.sources) != 3:
            return Refusal(
                f"expected updates, indices and one tensor, but got {len(found.sources)}"
            )
        replaces = yielded_argument(found.operation) == 0
        combiner = None if replaces else combiner_of(found.operation, found.element)
        if isinstance(combiner, Refusal):
            return combiner
        unique = str(found.operation.attributes["unique_indices"]) == "true"
        made = cls(found.sources, found.results, dims_of(found.operation), combiner, unique)
        return found.without_array() or made.unknown(found.types) or made

    @classmethod
    def examples(cls) -> tuple[tuple[ScatterByIndex, tuple[TensorType, ...]], ...]:
        """Rows put and added, a cache of keys, and numbers by two positions."""
        return (
            _example((3,), (6, 5), (0,), "f32", None, unique=False),
            _example((7,), (4, 5, 6), (0,), "f32", "arith.addf", unique=False),
            _example((2, 3), (5, 4, 8), (1, 0), "i32", "arith.maxsi", unique=False),
            _example((5,), (4, 3), (0, 1), "i64", None, unique=False),
        )

    def emit(self, types: Sequence[TensorType]) -> list[str]:
        """The named op; what the updates go into is what the result starts from."""
        (updates, indices, into), (result,) = self.sources, self.results
        kind = types[result]
        element = kind.element
        region = [
            f"  ^bb0(%update: {element}, %current: {element}):",
            f"    iree_linalg_ext.yield %update : {element}",
            f"  }} -> {kind}",
        ]
        if self.combiner is not None:
            region = region_lines(self.combiner, element, str(kind))
        return [
            f"  %t{result} = {self.mlir_name} dimension_map = {list(self.dims)} "
            f"unique_indices({str(self.unique).lower()}) "
            f"ins(%t{updates}, %t{indices} : {types[updates]}, {types[indices]}) "
            f"outs(%t{into} : {kind}) {{",
            *region,
        ]

    def evaluate(self, values: Sequence[Array], types: Sequence[TensorType]) -> tuple[Array, ...]:
        """One update after another."""
        updates, indices, into = values
        places = self.places(indices, types)
        dtype = into.dtype if into.dtype.kind in "iub" or self.combiner is None else np.float64
        found = self._put(into.astype(dtype), places, updates.astype(dtype), self.combiner)
        with np.errstate(all="ignore"):
            return (found.astype(into.dtype),)

    def error(self, made: Evaluated) -> tuple[Array | None, ...]:
        """Each update hands on its error and adds a rounding; an index has to be exact."""
        updates, indices, into = made.values
        if made.errors[1] is not None:
            return (np.full(into.shape, np.inf),)
        places = self.places(indices, made.types)
        counts = self._put(np.zeros(into.shape), places, np.ones(updates.shape), "arith.addf")
        twice = np.where(self.unique & (counts > 1), np.inf, 0.0)
        unit = roundoff(made.types[self.results[0]].element) or 0.0
        rounds = unit > 0 and self.combiner in (*SUMS, *PRODUCTS)
        if not rounds and made.errors[0] is None and made.errors[2] is None:
            return (twice if twice.any() else None,)
        missing, own = (
            known_errors(made.errors[0], updates.shape),
            known_errors(made.errors[2], into.shape),
        )
        with np.errstate(all="ignore"):
            if self.combiner is None:
                return (twice + self._put(own.copy(), places, missing, None),)
            sizes = [np.abs(a.astype(np.float64)) for a in (updates, into)]
            reached = self._put(sizes[1] + own, places, sizes[0] + missing, self._growth())
            exact = self._put(sizes[1].copy(), places, sizes[0], self._growth())
            rounding = np.expm1(2 * counts * unit) * reached if rounds else 0.0
            if self.combiner in EXTREMES:
                error = self._put(own.copy(), places, missing, "arith.maximumf")
            elif self.combiner in (*SUMS, *PRODUCTS):
                tiny = np.where(counts > 0, np.finfo(np.float32).tiny, 0.0)
                error = reached - exact + rounding + (tiny if unit else 0.0)
            else:
                spoiled = self._put(own.copy(), places, missing, "arith.maximumf")
                error = np.where(spoiled > 0, np.inf, 0.0)
        return (twice + np.where(np.isnan(error), np.inf, error),)

    def terms(self, types: Sequence[TensorType]) -> int:
        """The number of updates where they are added up."""
        return 1 if self.combiner is None else types[self.indices].elements

    def _growth(self) -> str:
        """How sizes grow."""
        return "arith.mulf" if self.combiner in PRODUCTS else "arith.addf"

    def _put(
        self, into: Array, places: tuple[Array, ...], updates: Array, combiner: str | None
    ) -> Array:
        """The updates put into an array, which is changed."""
        rows = updates.reshape(places[0].size, *into.shape[len(self.dims) :])
        with np.errstate(all="ignore"):
            if combiner is None:
                into[places] = rows
            else:
                COMBINERS[combiner].at(into, places, rows)
        return into


def _example(
    count: tuple[int, ...],
    shape: tuple[int, ...],
    dims: tuple[int, ...],
    element: str,
    combiner: str | None,
    unique: bool,
) -> tuple[ScatterByIndex, tuple[TensorType, ...]]:
    table = TensorType(shape, element)
    updates = TensorType((*count, *shape[len(dims) :]), element)
    indices = TensorType((*count, len(dims)), "i32")
    op = ScatterByIndex((0, 1, 2), (3,), dims, combiner, unique)
    return op, (updates, indices, table, table)
