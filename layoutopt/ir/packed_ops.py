"""The two ops between row-major memory and a layout with tiles."""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.ir.arity import Unary
from layoutopt.ir.layout import Layout


@dataclass(frozen=True, slots=True)
class Pack(Unary):
    """``linalg.pack``: the source, row-major, into a layout with tiles.

    ``padding``: what fills the last tiles where one does not divide its dim, as MLIR text.
    """

    layout: Layout
    padding: str | None = None


@dataclass(frozen=True, slots=True)
class Unpack(Unary):
    """``linalg.unpack``: the source, which lies in a layout with tiles, to row-major."""

    layout: Layout
