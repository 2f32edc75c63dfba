"""``iree_linalg_ext.scan``: running sums, products and extremes along one dim.

scan(x:L, start:L') -> y:L, last:L'        where L' is L without the dim, which has no tile
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutopt.ir.along_dim import AlongDim
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
)
from layoutopt.ir.size_values import empty_text
from layoutopt.ir.types import Array, TensorType, roundoff


@dataclass(frozen=True, slots=True)
class Scan(AlongDim):
    """``sources``: the numbers and what an exclusive scan starts from; ``results``: all and last.

    An inclusive scan begins with the first number; of one number alone the last is the start.
    """

    combiner: str = "arith.addf"
    inclusive: bool = True

    mlir_name = "iree_linalg_ext.scan"

    @property
    def without_dim(self) -> tuple[int, ...]:
        """The start and the last."""
        return (self.sources[1], self.results[1])

    @classmethod
    def operands(cls, operation: Any) -> Sequence[Any]:
        """The input and the start; the init of the first result is never read."""
        read, _, start = operation.operands
        return [read, start]

    @classmethod
    def read(cls, found: Occurrence) -> Scan | Refusal:
        """The op; its region has to be one commutative op."""
        combiner = combiner_of(found.operation, found.element)
        if isinstance(combiner, Refusal):
            return combiner
        inclusive = str(found.operation.attributes["inclusive"]) == "true"
        return cls(found.sources, found.results, found.dim, combiner, inclusive)

    @classmethod
    def examples(cls) -> tuple[tuple[Scan, tuple[TensorType, ...]], ...]:
        """Positions as models count them, and other dims, ops and types."""
        given: tuple[tuple[tuple[int, ...], int, str, str, bool], ...] = (
            ((2, 9), 1, "i64", "arith.addi", True),
            ((4, 6, 8), 1, "f32", "arith.addf", False),
            ((6, 4, 3), 0, "i32", "arith.maxsi", True),
            ((3, 5), 1, "f16", "arith.mulf", True),
        )
        return tuple(
            (
                cls((0, 1), (2, 3), dim, combiner, inclusive),
                _types(TensorType(shape, element), dim),
            )
            for shape, dim, element, combiner, inclusive in given
        )

    def emit(self, types: Sequence[TensorType]) -> list[str]:
        """The named op."""
        (read, start), (result, last) = self.sources, self.results
        whole, row = types[result], types[last]
        word = "true" if self.inclusive else "false"
        return [
            f"  %t{result}_empty = {empty_text(whole)}",
            f"  %t{result}, %t{last} = {self.mlir_name} dimension({self.dim}) inclusive({word}) "
            f"ins(%t{read} : {whole}) "
            f"outs(%t{result}_empty, %t{start} : {whole}, {row}) {{",
            *region_lines(self.combiner, whole.element, f"{whole}, {row}"),
        ]

    def evaluate(self, values: Sequence[Array], types: Sequence[TensorType]) -> tuple[Array, ...]:
        """From the first number to the last."""
        read, start = values
        found = self._along(COMBINERS[self.combiner], read, start)
        return found, self._last(found, start)

    def error(self, made: Evaluated) -> tuple[Array | None, ...]:
        """Each step hands on the error so far and adds a rounding."""
        unit = roundoff(made.types[self.sources[0]].element) or 0.0
        rounds = unit > 0 and self.combiner not in EXTREMES
        if not rounds and made.errors[0] is None and made.errors[1] is None:
            return None, None
        pairs = zip(made.values, made.errors, strict=True)
        sizes = [np.abs(v.astype(np.float64)) for v in made.values]
        missing = [known_errors(e, v.shape) for v, e in pairs]
        with np.errstate(all="ignore"):
            error = self._bound(sizes, missing, unit if rounds else 0.0)
        error = np.where(np.isnan(error), np.inf, error)
        return error, self._last(error, missing[1])

    def terms(self, types: Sequence[TensorType]) -> int:
        """The length of the dim."""
        return types[self.sources[0]].shape[self.dim]

    def _along(self, combine: np.ufunc, read: Array, start: Array) -> Array:
        first = np.expand_dims(start, self.dim)
        if not self.inclusive:
            read = np.concatenate(
                [first, read.take(range(read.shape[self.dim] - 1), self.dim)], self.dim
            )
        with np.errstate(all="ignore"):
            return combine.accumulate(read, axis=self.dim, dtype=read.dtype)

    def _last(self, found: Array, start: Array) -> Array:
        """The last of each row; what IREE leaves of a row of one number is the start."""
        return start if found.shape[self.dim] == 1 else found.take(-1, self.dim)

    def _bound(self, sizes: Sequence[Array], missing: Sequence[Array], unit: float) -> Array:
        reached = [s + e for s, e in zip(sizes, missing, strict=True)]
        steps = np.arange(sizes[0].shape[self.dim]).reshape(
            [-1 if d == self.dim else 1 for d in range(sizes[0].ndim)]
        )
        rounding = np.expm1(2 * (steps + 1) * unit)
        tiny = np.finfo(np.float32).tiny * (steps + 1) if unit else 0.0
        if self.combiner in SUMS:
            rounded = rounding * self._along(np.add, reached[0], reached[1])
            return np.asarray(self._along(np.add, missing[0], missing[1]) + rounded + tiny)
        if self.combiner in PRODUCTS:
            most = self._along(np.multiply, reached[0], reached[1])
            own = self._along(np.multiply, sizes[0], sizes[1])
            return np.asarray(most - own + rounding * most + tiny)
        worst = self._along(np.maximum, missing[0], missing[1])
        return worst if self.combiner in EXTREMES else np.where(worst > 0, np.inf, 0.0)


def _types(whole: TensorType, dim: int) -> tuple[TensorType, ...]:
    shape = (*whole.shape[:dim], *whole.shape[dim + 1 :])
    row = TensorType(shape, whole.element)
    return whole, row, whole, row
