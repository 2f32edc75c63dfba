"""Kinds of processors that a version of IREE is known to treat in its own way."""

from __future__ import annotations

from enum import Enum


class Processor(Enum):
    """A processor, as far as its code differs."""

    AVX2 = "x86-64 with AVX2"
    AVX512 = "x86-64 with AVX-512"
