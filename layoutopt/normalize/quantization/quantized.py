"""Which tensors hold quantized numbers: signed integers, less a zero point, times a scale.

    t = (widen(q) - zero) * scale

What only moves elements is done to the integers instead; the padding of zeros around t is the zero
point around q. Unsigned integers u are seen as the signed ones u - 128 with the zero point less
128, so that a contraction multiplies signed numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from layoutopt.ir.affine import IndexMap
from layoutopt.ir.scalar import ScalarOp
from layoutopt.ir.types import TensorType

INTEGER = "i8"
"""What is multiplied; its unsigned kind is shifted."""
SHIFT = 128
"""How much less the signed kind is."""


@dataclass(frozen=True, slots=True)
class Zero:
    """A zero point: ``offset``, plus an element of a tensor where there is one."""

    offset: int = 0
    tensor: int | None = None
    map: IndexMap = ()
    casts: tuple[ScalarOp, ...] = ()
    """What brings the element to the type that it is taken in."""

    @property
    def absent(self) -> bool:
        """Whether there is nothing to subtract."""
        return self.offset == 0 and self.tensor is None

    def largest(self, type_of: Callable[[int], TensorType]) -> int | None:
        """A bound on its magnitude, None where it is any number of its type."""
        if self.tensor is None:
            return abs(self.offset)
        if type_of(self.tensor).element != INTEGER:
            return None
        return abs(self.offset) + 2 * SHIFT


@dataclass(frozen=True, slots=True)
class Scale:
    """A factor: MLIR text, or an element of a tensor."""

    value: str | None
    tensor: int | None = None
    map: IndexMap = ()


@dataclass(frozen=True, slots=True)
class Quantized:
    """``(widen(integers) - zero) * scales``; maps are over dims of the tensor, or over loops."""

    integers: int
    element: str
    """The type of what was computed so far: that of the integers, a wider one, or a float."""
    zero: Zero = Zero()
    narrowest: int | None = None
    """Bits of the type that the zero point was subtracted in."""
    scales: tuple[Scale, ...] = ()

    @property
    def raw(self) -> bool:
        """Whether these are the integers themselves."""
        return self.element == INTEGER

    @property
    def floating(self) -> bool:
        """Whether the integers have become floats."""
        return self.element.startswith("f")

    @property
    def parameter_maps(self) -> tuple[IndexMap, ...]:
        """Where zero points and scales are read."""
        return (self.zero.map, *(s.map for s in self.scales))

    def read_by(self, index_map: IndexMap) -> Quantized:
        """The same where dim d is read at ``index_map[d]``."""

        def through(old: IndexMap) -> IndexMap:
            return tuple(index_map[f.dims[0]] if f.dims else f for f in old)

        zero = replace(self.zero, map=through(self.zero.map))
        scales = tuple(replace(s, map=through(s.map)) for s in self.scales)
        return replace(self, zero=zero, scales=scales)


def depends(found: Quantized, dims: set[int]) -> bool:
    """Whether zero point or scale differ along one of the dims."""
    return any(not dims.isdisjoint(f.dims) for m in found.parameter_maps for f in m)


def parts_of(old: tuple[int, ...], new: tuple[int, ...], d: int) -> range | None:
    """The dims of the new shape that dim ``d`` of the old one becomes; None where it is merged."""
    before = math.prod(old[:d])
    for first in range(len(new)):
        if math.prod(new[:first]) != before or new[first] == 1:
            continue
        for end in range(first + 1, len(new) + 1):
            if math.prod(new[first:end]) == old[d]:
                return range(first, end)
    return None
