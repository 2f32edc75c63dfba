"""The two ops between row-major memory and a layout with tiles."""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.layout import Layout


@dataclass(frozen=True, slots=True)
class Pack:
    """``linalg.pack``: the source, row-major, into a layout with tiles.

    ``padding``: what fills the last tiles where one does not divide its dim, as MLIR text.
    """

    source: int
    result: int
    layout: Layout
    padding: str | None = None

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return (self.source,)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return (self.result,)


@dataclass(frozen=True, slots=True)
class Unpack:
    """``linalg.unpack``: the source, which lies in a layout with tiles, to row-major."""

    source: int
    result: int
    layout: Layout

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return (self.source,)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return (self.result,)
