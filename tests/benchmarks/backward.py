"""Backward-data convolutions of stride 2, as the dispatches that IREE makes of them.

The facts are those of iree-org/iree issue 23976. Baseline: fill, slow_memcpy, a small dispatch on
the filter (transpose or flip), then the contraction on the large tensor. Improved 1x1: the filter,
the contraction on the small tensor, one scatter of its result. Improved 3x3: one scatter instead of
fill and slow_memcpy, then as before.
"""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.ir.types import element_bytes
from layoutopt.pricing.analytic.kernel import Kernel
from layoutopt.pricing.analytic.work import Contraction, DispatchWork

Dispatch = tuple[DispatchWork, Kernel | None]
STRIDE = 2


@dataclass(frozen=True, slots=True)
class BackwardConvolution:
    """Image of n x h x w x c (the larger one), from h/2 x w/2 x k, with size x size filters."""

    size: int
    element: str
    n: int
    c: int
    h: int
    w: int
    k: int
    groups: int

    def __str__(self) -> str:
        return (
            f"{self.size}x{self.size} {self.element} n={self.n} c={self.c} "
            f"{self.h}x{self.w} k={self.k} g={self.groups}"
        )

    @property
    def small_pixels(self) -> int:
        """Pixels of the smaller image, over the batch."""
        return self.n * -(-self.h // STRIDE) * -(-self.w // STRIDE)

    def bytes_of(self, elements: int) -> int:
        """Bytes of so many elements."""
        return elements * element_bytes(self.element)

    def contraction(self, pixels: int) -> Contraction:
        """The implicit matmul that makes so many pixels of the image."""
        channels, filters = self.c // self.groups, self.k // self.groups
        k = filters * self.size * self.size
        return Contraction(self.groups, pixels, channels, k, self.element)


def baseline(shape: BackwardConvolution, kernel: Kernel | None) -> tuple[Dispatch, ...]:
    """What the published baseline runs; `kernel` is that of the contraction."""
    border = shape.size - 1
    scattered = shape.bytes_of(shape.n * (shape.h + border) * (shape.w + border) * shape.k)
    small = shape.bytes_of(shape.small_pixels * shape.k)
    runs = shape.small_pixels * shape.groups
    return (
        (DispatchWork((), (scattered,), engine=True), None),
        (DispatchWork((small,), (small,), runs=runs, engine=True), None),
        (_filter(shape), None),
        (_contraction(shape, scattered, shape.n * shape.h * shape.w), kernel),
    )


def improved(shape: BackwardConvolution, kernel: Kernel | None) -> tuple[Dispatch, ...]:
    """What the published improvement runs; `kernel` is that of its contraction."""
    small = shape.bytes_of(shape.small_pixels * shape.k)
    if shape.size == 1:
        result = shape.bytes_of(shape.small_pixels * shape.c)
        image = shape.bytes_of(shape.n * shape.h * shape.w * shape.c)
        return (
            (_filter(shape), None),
            (_contraction(shape, small, shape.small_pixels), kernel),
            (DispatchWork((result,), (image,)), None),
        )
    border = shape.size - 1
    scattered = shape.bytes_of(shape.n * (shape.h + border) * (shape.w + border) * shape.k)
    return (
        (DispatchWork((small,), (scattered,)), None),
        (_filter(shape), None),
        (_contraction(shape, scattered, shape.n * shape.h * shape.w), kernel),
    )


def _filter(shape: BackwardConvolution) -> DispatchWork:
    size = shape.bytes_of(shape.k * shape.c // shape.groups * shape.size**2)
    return DispatchWork((size,), (size,))


def _contraction(shape: BackwardConvolution, read_bytes: int, pixels: int) -> DispatchWork:
    weights = shape.bytes_of(shape.k * shape.c // shape.groups * shape.size**2)
    written = shape.bytes_of(pixels * shape.c)
    return DispatchWork((read_bytes, weights), (written,), shape.contraction(pixels))
