"""Kinds of processors that a version of IREE is known to treat in its own way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import Enum

_LINE_BYTES = 64


@dataclass(frozen=True, slots=True)
class VectorRegisters:
    """The registers that code for a processor computes in, and the cache that they are read from.

    A cache has its lines in sets, by the low bits of their addresses: of lines that lie a multiple
    of ``way_bytes`` apart it holds as many as it has ways.
    """

    bits: int
    """Of one register."""
    count: int
    """Those that sums and one row of the second factor may take."""
    ways: int = 8
    """Of the first cache of data."""
    way_bytes: int = 4096
    repeated: int = 0
    """Those of them that a number of the first factor takes, where several products read it."""

    def most_rows(self, vectors: int, stride_bytes: int, *, repeats: bool = True) -> int:
        """Rows of a tile, so many vectors wide, at most; the first factor's lie that far apart.

        There are registers for all sums beside those of one row of the second factor, and the lines
        of the rows stay in the cache while all are read side by side, but for two of twelve: with
        as many ways, 14 rows 8 KB apart take 0.94 of the time of 12. ``repeats``: whether all
        vectors of a row are multiplied by the same number.
        """
        apart = max(_LINE_BYTES, math.gcd(stride_bytes, self.way_bytes))
        taken = vectors + (self.repeated if repeats and vectors > 1 else 0)
        lines = self.ways * self.way_bytes // apart
        return min((self.count - taken) // vectors, lines + 2 * (lines // 12))

    def computes_like(self, other: VectorRegisters) -> bool:
        """Whether the registers are the same, whatever the cache."""
        return (self.bits, self.count) == (other.bits, other.count)


class Processor(Enum):
    """A processor, as far as its code differs."""

    AVX2 = "x86-64 with AVX2"
    AVX512 = "x86-64 with AVX-512"
    NEON = "64-bit Arm with NEON"

    @property
    def registers(self) -> VectorRegisters:
        """Its vector registers: Intel SDM volume 1, 14.1 and 15.2; Arm ARM, section A1.3.

        One less where the first factor takes one. AVX-512 reads it from memory as it multiplies,
        but LLVM loads it into one where several products read it, and where none is left, it has a
        sum in memory: 15x32 and 7x64 then take 6 % longer than 14x32 and 6x64.
        The cache: on x86-64 a way is a page (4 KB) and there are eight or more (Intel Optimization
        Reference Manual, 2.1; AMD Software Optimization Guide for Zen 4, 2.6.2); the Neoverse N1
        has four of 16 KB (Arm Neoverse N1 TRM, A6.1).
        """
        match self:
            case Processor.AVX2:
                return VectorRegisters(256, 15)
            case Processor.AVX512:
                return VectorRegisters(512, 32, repeated=1)
            case Processor.NEON:
                return VectorRegisters(128, 31, ways=4, way_bytes=16384)
