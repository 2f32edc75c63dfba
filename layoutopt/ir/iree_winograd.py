"""What the three ``iree_linalg_ext.winograd`` ops share: the order of dims and the matrices.

Images and filters come in two orders of dims, which an attribute tells apart; tiles in one.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from layoutopt.ir.extension import Occurrence
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.minimal_filtering import MinimalFiltering, WindowTransform, matrix
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.size_values import empty_text
from layoutopt.ir.types import TensorType, roundoff

F6 = MinimalFiltering(
    outputs=matrix(
        "1 1  1  1   1    1     1 0; 0 1 -1  2  -2  1/2  -1/2 0; 0 1 1  4  4  1/4  1/4 0;"
        "0 1 -1  8  -8  1/8  -1/8 0; 0 1  1 16  16 1/16  1/16 0; 0 1 -1 32 -32 1/32 -1/32 1"
    ),
    filters=matrix(
        "1 0 0; -2/9 -2/9 -2/9; -2/9 2/9 -2/9; 1/90 1/45 2/45; 1/90 -1/45 2/45;"
        "32/45 16/45 8/45; 32/45 -16/45 8/45; 0 0 1"
    ),
    inputs=matrix(
        "1    0 -21/4     0  21/4     0 -1 0; 0  1   1 -17/4 -17/4    1 1 0;"
        "0   -1     1  17/4 -17/4    -1  1 0; 0 1/2 1/4 -5/2 -5/4     2 1 0;"
        "0 -1/2   1/4   5/2  -5/4    -2  1 0; 0  2   4  -5/2   -5   1/2 1 0;"
        "0   -2     4   5/2    -5  -1/2  1 0; 0 -1   0  21/4    0 -21/4 0 1"
    ),
)
"""F(6, 3), the only one whose matrices IREE has: it takes them for other tiles as well."""


@dataclass(frozen=True, slots=True)
class IreeWinograd(WindowTransform):
    """``order``: a letter for each dim of the image or filter, h and w for those of the windows."""

    order: str = ""

    orders: ClassVar[tuple[str, str]]
    """The two that there are."""
    attribute: ClassVar[str] = "image_dimensions"
    """What names the dims of the windows."""
    makes_image: ClassVar[bool] = False
    """Whether the image is the result."""

    @classmethod
    def operands(cls, operation: Any) -> Sequence[Any]:
        """The input; the init of the result is never read."""
        return list(operation.operands)[:1]

    @classmethod
    def read(cls, found: Occurrence) -> Self | Refusal:
        """The op; its numbers are attributes."""
        attributes = found.operation.attributes
        tile, taps = (
            int(str(attributes[n]).split()[0]) for n in ("output_tile_size", "kernel_size")
        )
        if (tile, taps) != (F6.tile, F6.taps):
            return Refusal(
                f"expected F(6, 3), whose matrices IREE has, but got F({tile}, {taps}), which it "
                "computes with parts of the same"
            )
        if roundoff(found.element) is None:
            return Refusal(f"expected floats, but got {found.element}")
        own = str(attributes[cls.attribute])
        order = next((o for o in cls.orders if own == f"array<i64: {_windows_of(o)}>"), None)
        if order is None:
            return Refusal(f"expected the dims of an image in one of two orders, but got {own}")
        return cls(found.sources, found.results, order)

    def emit(self, types: Sequence[TensorType]) -> list[str]:
        """The named op."""
        (source,), (result,) = self.sources, self.results
        kind = types[result]
        return [
            f"  %t{result}_empty = {empty_text(kind)}",
            f"  %t{result} = {self.mlir_name} output_tile_size({F6.tile}) kernel_size({F6.taps}) "
            f"{self.attribute}([{_windows_of(self.order)}]) ins(%t{source} : {types[source]}) "
            f"outs(%t{result}_empty : {kind}) -> {kind}",
        ]

    def propagate(
        self, types: Sequence[TensorType], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """The image has one of two orders, the tiles theirs."""
        found = {t: row_major(len(types[t].shape)) for t in (*self.inputs, *self.outputs)}
        found[tensor] = layout
        return self.refusal(found, types) or found

    def refusal(self, layouts: Assignment, types: Sequence[TensorType]) -> Refusal | None:
        """The image has no tiles and lies in one of the orders; the tiles are row-major."""
        image, tiles = self._image, self._tiles
        if layouts[image].is_tiled or self._order_in(layouts[image]) not in self.orders:
            return Refusal(
                f"expected dims in the order {' or '.join(self.orders)} around {self.mlir_name}, "
                f"but got {layouts[image]}"
            )
        if not layouts[tiles].is_row_major:
            return Refusal(
                f"expected row-major tiles of {self.mlir_name}, but got {layouts[tiles]}"
            )
        return None

    def moved(self, layouts: Mapping[int, Layout]) -> Self:
        """The other order, where the dims lie so in memory."""
        return replace(self, order=self._order_in(layouts[self._image]))

    def axes(self, order: str) -> tuple[int, ...]:
        """Where the dims of these letters are in the image."""
        return tuple(map(self.order.index, order))

    @property
    def _image(self) -> int:
        return (self.results if self.makes_image else self.sources)[0]

    @property
    def _tiles(self) -> int:
        return (self.sources if self.makes_image else self.results)[0]

    def _order_in(self, layout: Layout) -> str:
        return "".join(self.order[d] for d in layout.outer_dims_perm)

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[tuple[Self, tuple[TensorType, ...]], ...]:
        """In both orders."""


def _windows_of(order: str) -> str:
    return ", ".join(str(order.index(letter)) for letter in "hw")
