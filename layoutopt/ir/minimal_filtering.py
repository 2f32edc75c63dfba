"""Winograd's transforms: what ops of all dialects compute with the tiles of an image.

    y = A^T [(G g G^T) * (B^T d B)] A        for one tile d and one filter g

Each of the three products by matrices is an op of its own: a transform of filters, of the tiles of
an image, and of what their product gives.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from layoutopt.ir.extension import Evaluated, EvaluatedExtension
from layoutopt.ir.region import known_errors
from layoutopt.ir.types import Array, TensorType, roundoff

Matrix = tuple[tuple[Fraction, ...], ...]
_ROUNDINGS = 8
"""Of the coefficients in the element type and of what follows the sums."""


@dataclass(frozen=True, slots=True)
class MinimalFiltering:
    """F(m, r): m outputs of a filter of r taps at a time."""

    outputs: Matrix
    """A^T, m x n for n = m + r - 1."""
    filters: Matrix
    """G, n x r."""
    inputs: Matrix
    """B^T, n x n."""

    @property
    def tile(self) -> int:
        """Outputs at a time: m."""
        return len(self.outputs)

    @property
    def taps(self) -> int:
        """Filter elements: r."""
        return len(self.filters[0])

    @property
    def products(self) -> int:
        """Multiplications, which is also the inputs that a tile reads: n."""
        return len(self.inputs)

    @property
    def is_dyadic(self) -> bool:
        """Whether binary floating point holds every coefficient exactly."""
        return all(c.denominator & (c.denominator - 1) == 0 for row in self.filters for c in row)


def matrix(text: str) -> Matrix:
    """Rows of fractions, ``1 0; 1/2 -1``."""
    return tuple(tuple(map(Fraction, row.split())) for row in text.split(";"))


@dataclass(frozen=True, slots=True)
class WindowTransform(EvaluatedExtension):
    """A matrix along both windows of each tile of the source."""

    @abstractmethod
    def matrices(self) -> tuple[Matrix, Matrix]:
        """Along the rows and along the columns of a tile."""

    @abstractmethod
    def windows(self, source: Array) -> Array:
        """The elements of each tile along the first two dims, the tiles along the others."""

    @abstractmethod
    def placed(self, made: Array) -> Array:
        """The result of its elements by tile, in the order of ``windows``."""

    def evaluate(self, values: Sequence[Array], types: Sequence[TensorType]) -> tuple[Array, ...]:
        """In the widest type, rounded at the end."""
        source = values[0].astype(np.float64)
        with np.errstate(all="ignore"):
            return (self._product(source, self._numbers()).astype(values[0].dtype),)

    def error(self, made: Evaluated) -> tuple[Array | None, ...]:
        """Of sums along one dim and the other, by coefficients that are rounded as well."""
        unit = roundoff(made.types[self.results[0]].element) or 0.0
        source = np.abs(made.values[0].astype(np.float64))
        missing = known_errors(made.errors[0], source.shape)
        coefficients = [np.abs(m) for m in self._numbers()]
        roundings = 2 * sum(m.shape[1] for m in coefficients) + _ROUNDINGS
        with np.errstate(all="ignore"):
            error = self._product(missing, coefficients) + np.finfo(np.float32).tiny
            error = error + roundings * unit * self._product(source + missing, coefficients)
        return (np.where(np.isnan(error), np.inf, error),)

    def terms(self, types: Sequence[TensorType]) -> int:
        """The elements of a tile."""
        rows, columns = self.matrices()
        return len(rows[0]) * len(columns[0])

    def _numbers(self) -> list[Array]:
        return [np.array(m, np.float64) for m in self.matrices()]

    def _product(self, source: Array, coefficients: Sequence[Array]) -> Array:
        rows, columns = coefficients
        tiles = self.windows(source)
        return self.placed(np.einsum("ia,jb,ab...->ij...", rows, columns, tiles, optimize=True))
