"""``iree_linalg_ext.winograd.filter_transform``: G g G^T for each filter of a convolution.

filter(g:L) -> u        where L has the dims as HWCF or as FCHW
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

from layoutopt.ir.iree_winograd import F6, IreeWinograd
from layoutopt.ir.minimal_filtering import Matrix
from layoutopt.ir.types import Array, TensorType


@dataclass(frozen=True, slots=True)
class IreeWinogradFilter(IreeWinograd):
    """The result has the tile's rows and columns first, then channels and filters."""

    mlir_name = "iree_linalg_ext.winograd.filter_transform"
    orders = ("hwcf", "fchw")
    attribute = "kernel_dimensions"

    @classmethod
    def examples(cls) -> tuple[tuple[IreeWinogradFilter, tuple[TensorType, ...]], ...]:
        """In both orders."""
        made = TensorType((8, 8, 5, 4), "f32")
        return tuple(
            (cls((0,), (1,), order), (TensorType(shape, "f32"), made))
            for order, shape in (("hwcf", (3, 3, 5, 4)), ("fchw", (4, 5, 3, 3)))
        )

    def loops(self, types: Sequence[TensorType]) -> Mapping[int, Sequence[Hashable]]:
        """The channels and the filters."""
        (source,), (result,) = self.sources, self.results
        known = [c if c in "cf" else None for c in self.order]
        return {source: known, result: (None, None, "c", "f")}

    def matrices(self) -> tuple[Matrix, Matrix]:
        """G twice."""
        return F6.filters, F6.filters

    def windows(self, source: Array) -> Array:
        """Each filter is one."""
        return source.transpose(self.axes("hwcf"))

    def placed(self, made: Array) -> Array:
        """As they are."""
        return made
