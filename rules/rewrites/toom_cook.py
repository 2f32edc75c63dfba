"""The matrices of a short convolution with few multiplications.

F(m, r) computes m outputs of a filter of r taps by ``n = m + r - 1`` multiplications:
``y = A^T [(G g) * (B^T d)]``, with d the n inputs that the outputs read. Both polynomials are
evaluated at n - 1 points and at infinity, multiplied there, and interpolated (Toom and Cook; as
transforms of convolutions: Winograd, *Arithmetic Complexity of Computations*, 1980, and Lavin and
Gray, *Fast Algorithms for Convolutional Neural Networks*, 2016).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from layoutopt.ir.minimal_filtering import MinimalFiltering

POINTS = (*map(Fraction, (0, 1, -1, 2, -2)), Fraction(1, 2), Fraction(-1, 2))
"""Where the polynomials are evaluated: small numbers keep the rounding errors small."""

LARGEST = len(POINTS) + 1
"""Multiplications at most."""


@lru_cache
def toom_cook(tile: int, taps: int) -> MinimalFiltering:
    """F(tile, taps), with binary fractions in A^T and B^T.

    ``tile + taps - 1`` is LARGEST at most.
    """
    count = tile + taps - 1
    points = POINTS[: count - 1]
    inputs: list[tuple[Fraction, ...]] = []
    filters: list[tuple[Fraction, ...]] = []
    for i, point in enumerate(points):
        others = (*points[:i], *points[i + 1 :])
        scale = Fraction(1)
        for other in others:
            scale *= point - other
        sign = 1 if scale > 0 else -1
        inputs.append((*(sign * c for c in _monic(others)), Fraction(0)))
        filters.append(tuple(point**k / abs(scale) for k in range(taps)))
    inputs.append(_monic(points))
    filters.append(_unit(taps))
    outputs = tuple(
        (*(point**p for point in points), Fraction(int(p == tile - 1))) for p in range(tile)
    )
    return MinimalFiltering(outputs, tuple(filters), tuple(inputs))


def _monic(roots: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
    """Coefficients of ``prod(x - root)``, the constant one first."""
    found = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *found]
        scaled = [*(-root * c for c in found), Fraction(0)]
        found = [a + b for a, b in zip(shifted, scaled, strict=True)]
    return tuple(found)


def _unit(size: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(int(k == size - 1)) for k in range(size))
