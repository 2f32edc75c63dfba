"""What the generator knows of a tensor: its type, how large its numbers are, how exact."""

from __future__ import annotations

import math
from dataclasses import dataclass

EPSILON = {"f64": 2.0**-52, "f32": 2.0**-23, "f16": 2.0**-10, "bf16": 2.0**-7}
"""Distance from 1 to the next number."""
BITS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64}
LARGEST_ERROR = 1e-2
"""An error relative to the bound beyond which a tensor serves as a result only."""


@dataclass(frozen=True)
class Value:
    """A tensor of the function: ``name`` as MLIR spells it, with the percent sign.

    ``bound`` is the largest magnitude its elements can have, ``error`` how far two right ways to
    compute them may be apart. ``integral``: all elements are whole numbers.
    """

    name: str
    shape: tuple[int, ...]
    element: str
    bound: float
    error: float = 0.0
    integral: bool = True

    @property
    def type(self) -> str:
        """The MLIR type."""
        return tensor_text(self.shape, self.element)

    @property
    def size(self) -> int:
        """How many elements it holds."""
        return math.prod(self.shape)

    @property
    def floating(self) -> bool:
        """Whether its elements are floating-point numbers."""
        return self.element in EPSILON

    @property
    def exact(self) -> bool:
        """Whether every right way to compute it gives the same bits."""
        return self.error == 0.0

    @property
    def sharp(self) -> bool:
        """Whether more can be computed from it without drowning in rounding."""
        return self.error <= LARGEST_ERROR * max(self.bound, 1.0)


def tensor_text(shape: tuple[int, ...], element: str) -> str:
    """``tensor<2x3xf32>``."""
    return f"tensor<{'x'.join([*map(str, shape), element])}>"


def rounded(element: str, bound: float, error: float, integral: bool, steps: int = 1) -> float:
    """The error of something stored ``steps`` times in ``element``, on its way to ``bound``.

    Whole numbers that the type holds without rounding stay exact.
    """
    if element not in EPSILON:
        return error
    if integral and error == 0.0 and bound <= 1.0 / EPSILON[element]:
        return 0.0
    return error + steps * EPSILON[element] * bound


def wrapped(element: str, bound: float) -> float:
    """The largest magnitude after integers wrap around."""
    if element not in BITS:
        return bound
    return min(bound, 2.0 ** (BITS[element] - 1)) if element != "i1" else 1.0
