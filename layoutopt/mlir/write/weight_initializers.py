"""Initializers: what computes the weights that a plan holds in another form.

    w0 = f0(w);  w1 = f1(w)      ->      w0, w1 = f(w), what both need computed once

A weight that only lies in another order has an initializer of its own, so that it can be moved
ahead of time without its neighbours. Weights that are computed from the same ones share theirs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutopt.ir.graph import Graph, Op, Structured
from layoutopt.ir.lowered import HoistedWeight
from layoutopt.ir.renaming import renumbered
from layoutopt.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class Initializer:
    """One or more weights computed together from the model's constants."""

    graph: Graph
    inputs: dict[int, int]
    """The model's constants that it reads, as tensors of ``graph``."""
    outputs: tuple[tuple[int, int], ...]
    """(tensor of ``graph``, tensor of the planned graph that stands for it)."""


def initializers(hoisted: Sequence[HoistedWeight]) -> tuple[Initializer, ...]:
    """An initializer for each weight, or for all weights computed from the same constants."""
    groups: dict[tuple[int, ...], list[HoistedWeight]] = {}
    for position, weight in enumerate(hoisted):
        unshared = (-1 - position,)
        key = tuple(sorted(weight.inputs)) if _computes(weight.graph) else unshared
        groups.setdefault(key, []).append(weight)
    return tuple(map(_merged, groups.values()))


def _computes(graph: Graph) -> bool:
    """Whether it does more than to move elements."""
    return any(isinstance(op, Structured) and not op.is_copy for op in graph.ops)


def _merged(weights: Sequence[HoistedWeight]) -> Initializer:
    types: list[TensorType] = []
    ops: list[Op] = []
    seen: dict[Op, tuple[int, ...]] = {}
    inputs: dict[int, int] = {}
    made: list[tuple[int, int]] = []

    def new(kind: TensorType) -> int:
        types.append(kind)
        return len(types) - 1

    for weight in weights:
        number: dict[int, int] = {}
        for constant, tensor in weight.inputs.items():
            if constant not in inputs:
                inputs[constant] = new(weight.graph.types[tensor])
            number[tensor] = inputs[constant]
        for op in weight.graph.ops:
            places = {t: -1 - i for i, t in enumerate(op.outputs)}
            key = renumbered(op, number | places)
            if key not in seen:
                seen[key] = tuple(new(weight.graph.types[t]) for t in op.outputs)
                ops.append(renumbered(op, number | dict(zip(op.outputs, seen[key], strict=True))))
            number |= dict(zip(op.outputs, seen[key], strict=True))
        made.append((number[weight.result], weight.planned_tensor))
    outputs = tuple(tensor for tensor, _ in made)
    return Initializer(
        Graph(tuple(types), tuple(ops), tuple(inputs.values()), outputs), inputs, tuple(made)
    )
