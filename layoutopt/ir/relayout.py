"""The graph in memory order, to which ops are added over tensors in chosen layouts."""

from __future__ import annotations

from layoutopt.ir.graph import GraphBuilder
from layoutopt.ir.layout import Layout
from layoutopt.ir.types import TensorType


class Physical:
    """The graph in memory order: one row-major tensor for each (tensor, layout) that is used."""

    def __init__(self, types: tuple[TensorType, ...]) -> None:
        """``types``: the logical types of all tensors."""
        self.types = types
        self.builder = GraphBuilder()
        self._tensors: dict[tuple[int, Layout], int] = {}

    def tensor(self, tensor: int, layout: Layout) -> int:
        """The physical tensor that holds a logical one in a layout."""
        key = (tensor, layout)
        if key not in self._tensors:
            physical = layout.physical_type(self.types[tensor])
            self._tensors[key] = self.builder.tensor(physical.shape, physical.element)
        return self._tensors[key]
