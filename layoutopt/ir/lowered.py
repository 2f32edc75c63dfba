"""The planned graph as it is written, with the weights that are computed ahead of time."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from layoutopt.ir.graph import (
    Graph,
)
from layoutopt.ir.layout import Layout
from layoutopt.ir.types import TensorType
from layoutopt.ir.weights import meaning


@dataclass(frozen=True, slots=True)
class HoistedWeight:
    """A weight that is computed once, ahead of time, from the model's constants."""

    graph: Graph
    inputs: dict[int, int]
    """The model's constants that it reads, as tensors of ``graph``."""
    result: int
    """The tensor of ``graph`` that holds the weight."""
    planned_tensor: int
    """The tensor of the planned graph that stands for it."""
    is_copy: bool = True
    """Whether it is one that is there, in another layout or type; else parts put together."""

    def meaning(self, names: Mapping[int, Hashable]) -> Hashable:
        """What tells it from other weights. ``names``: of the model's constants."""
        read = {tensor: names[constant] for constant, tensor in self.inputs.items()}
        return meaning(self.graph, self.result, read)


@dataclass(frozen=True, slots=True)
class Lowered:
    """The planned graph and how its outside tensors are those of the model."""

    graph: Graph
    inputs: dict[int, int]
    """Inputs and constants of the model, as tensors of ``graph``."""
    outputs: dict[int, int]
    """Outputs of the model, as tensors of ``graph``."""
    hoisted: tuple[HoistedWeight, ...]
    handed: Mapping[tuple[int, Layout], int] = field(default_factory=dict)
    """Tensors of the model that control flow takes in other layouts, as tensors of ``graph``."""

    @property
    def made(self) -> tuple[int, ...]:
        """The tensors of ``graph`` that are read outside of it."""
        return (*self.outputs.values(), *self.handed.values())

    @property
    def planned_outputs(self) -> tuple[int, ...]:
        """The outputs of the model that the planned ops make, as tensors of the model."""
        return tuple(t for t in self.outputs if t not in self.inputs)

    def copied_weights(self, names: Mapping[int, Hashable]) -> dict[Hashable, TensorType]:
        """The weights in other layouts or types, as they are held in memory, each once.

        ``names``: of the model's constants.
        """
        return {
            w.meaning(names): self.graph.types[w.planned_tensor] for w in self.hoisted if w.is_copy
        }
