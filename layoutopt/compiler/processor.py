"""Kinds of processors that a version of IREE is known to treat in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


@dataclass(frozen=True, slots=True)
class VectorRegisters:
    """The registers that code for a processor computes in."""

    bits: int
    """Of one."""
    count: int
    """Those that sums and one row of the second factor may take."""


class Processor(Enum):
    """A processor, as far as its code differs."""

    AVX2 = "x86-64 with AVX2"
    AVX512 = "x86-64 with AVX-512"
    NEON = "64-bit Arm with NEON"

    @property
    def registers(self) -> VectorRegisters:
        """Its vector registers: Intel SDM volume 1, 14.1 and 15.2; Arm ARM, section A1.3.

        One less where the first factor takes one: AVX-512 reads it from memory as it multiplies.
        """
        match self:
            case Processor.AVX2:
                return VectorRegisters(256, 15)
            case Processor.AVX512:
                return VectorRegisters(512, 32)
            case Processor.NEON:
                return VectorRegisters(128, 31)
