"""``iree_linalg_ext.winograd.output_transform``: A^T m A, the tiles of the result side by side.

output(m) -> y:L        where L has the dims as NHWC or as NCHW
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from layoutopt.ir.iree_winograd import F6, IreeWinograd
from layoutopt.ir.minimal_filtering import Matrix
from layoutopt.ir.types import Array, TensorType


@dataclass(frozen=True, slots=True)
class IreeWinogradOutput(IreeWinograd):
    """The source has a tile's rows and columns first, then n, the tiles and the channels."""

    mlir_name = "iree_linalg_ext.winograd.output_transform"
    orders = ("nhwc", "nchw")
    makes_image = True

    @classmethod
    def examples(cls) -> tuple[tuple[IreeWinogradOutput, tuple[TensorType, ...]], ...]:
        """In both orders."""
        given = (
            ("nhwc", (8, 8, 2, 2, 1, 5), (2, 12, 6, 5)),
            ("nchw", (8, 8, 1, 2, 3, 3), (1, 3, 12, 18)),
        )
        return tuple(
            (cls((0,), (1,), order), (TensorType(shape, "f32"), TensorType(made, "f32")))
            for order, shape, made in given
        )

    def loops(self, types: Sequence[TensorType]) -> Mapping[int, Sequence[Hashable]]:
        """The images and the channels."""
        (source,), (result,) = self.sources, self.results
        known = [c if c in "nc" else None for c in self.order]
        return {source: (None, None, "n", None, None, "c"), result: known}

    def matrices(self) -> tuple[Matrix, Matrix]:
        """A^T twice."""
        return F6.outputs, F6.outputs

    def windows(self, source: Array) -> Array:
        """As they are."""
        return source

    def placed(self, made: Array) -> Array:
        """One tile beside the other."""
        rows, columns, n, high, wide, c = made.shape
        image = made.transpose(2, 3, 0, 4, 1, 5).reshape(n, high * rows, wide * columns, c)
        return image.transpose(["nhwc".index(letter) for letter in self.order])
