"""``iree_linalg_ext.winograd.input_transform``: B^T d B for each tile of an image.

input(d:L) -> v        where L has the dims as NHWC or as NCHW
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from layoutopt.ir.iree_winograd import F6, IreeWinograd
from layoutopt.ir.minimal_filtering import Matrix
from layoutopt.ir.types import Array, TensorType

_OVERLAP = F6.taps - 1


@dataclass(frozen=True, slots=True)
class IreeWinogradInput(IreeWinograd):
    """The result has a tile's rows and columns first, then n, the tiles and the channels.

    Tiles overlap; what lies behind the image is zero.
    """

    mlir_name = "iree_linalg_ext.winograd.input_transform"
    orders = ("nhwc", "nchw")

    @classmethod
    def examples(cls) -> tuple[tuple[IreeWinogradInput, tuple[TensorType, ...]], ...]:
        """In both orders, with whole tiles and without."""
        given = (
            ("nhwc", (2, 14, 8, 5), (8, 8, 2, 2, 1, 5)),
            ("nchw", (1, 3, 11, 16), (8, 8, 1, 2, 3, 3)),
        )
        return tuple(
            (cls((0,), (1,), order), (TensorType(shape, "f32"), TensorType(made, "f32")))
            for order, shape, made in given
        )

    def loops(self, types: Sequence[TensorType]) -> Mapping[int, Sequence[Hashable]]:
        """The images and the channels."""
        (source,), (result,) = self.sources, self.results
        known = [c if c in "nc" else None for c in self.order]
        return {source: known, result: (None, None, "n", None, None, "c")}

    def matrices(self) -> tuple[Matrix, Matrix]:
        """B^T twice."""
        return F6.inputs, F6.inputs

    def windows(self, source: Array) -> Array:
        """As many tiles as the outputs need."""
        image = source.transpose(self.axes("nhwc"))
        reach = [-(-(n - _OVERLAP) // F6.tile) * F6.tile + _OVERLAP for n in image.shape[1:3]]
        high = [max(0, whole - n) for whole, n in zip(reach, image.shape[1:3], strict=True)]
        wide = np.pad(image, [(0, 0), *((0, n) for n in high), (0, 0)])
        size = len(F6.inputs)
        found = np.lib.stride_tricks.sliding_window_view(wide, (size, size), (1, 2))
        return found[:, :: F6.tile, :: F6.tile].transpose(4, 5, 0, 1, 2, 3)

    def placed(self, made: Array) -> Array:
        """As they are."""
        return made
