"""Tensors that hold another one at strided positions of a background with one value."""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.graph import Constant, Graph, Insert, Op, Pad, Reshape, Scatter, Slice, Structured
from layoutopt.ir.scalar import fill_value
from layoutopt.oracle.constant import constant


@dataclass(frozen=True, slots=True)
class InteriorPadding:
    """``tensor[offsets + strides * i] = source[i]`` and ``background`` elsewhere.

    ``background`` is MLIR text; None where it is not a single value.
    """

    source: int
    offsets: tuple[int, ...]
    strides: tuple[int, ...]
    background: str | None


def interior_padding(graph: Graph, tensor: int) -> InteriorPadding | None:
    """How a tensor is interior-padded; None where no producer scatters with a stride."""
    for index in graph.producers[tensor]:
        found = _interior_padding_by(graph, graph.ops[index])
        if found is not None and any(s > 1 for s in found.strides):
            return found
    return None


def splat_of(graph: Graph, tensor: int) -> str | None:
    """The one value that a tensor holds everywhere, as MLIR text; None where it has several."""
    for index in graph.producers[tensor]:
        found = _splat_by(graph, graph.ops[index])
        if found is not None:
            return found
    return None


def zero_pad(graph: Graph, tensor: int) -> Pad | None:
    """What puts zeros around a tensor, and could put a few more; None where nothing does.

    Not what may leave the memory around it as it was.
    """
    element = graph.types[tensor].element
    for index in graph.producers[tensor]:
        op = graph.ops[index]
        if isinstance(op, Pad) and not op.anything and is_zero(op.value, element):
            return op
    return None


def is_zero(text: str, element: str) -> bool:
    """Whether a scalar attribute is zero of an element type."""
    value = constant(text, element)
    return value is not None and bool(value == 0)


def is_same(text: str, other: str, element: str) -> bool:
    """Whether two scalar attributes are one number, bit for bit; an unknown one is like none."""
    values = [constant(t, element) for t in (text, other)]
    known = [value.tobytes() for value in values if value is not None]
    return len(known) == 2 and known[0] == known[1]


def typed(text: str, element: str) -> str:
    """A scalar attribute that names its type."""
    return text if ":" in text or text in ("true", "false") else f"{text} : {element}"


def _interior_padding_by(graph: Graph, op: Op) -> InteriorPadding | None:
    match op:
        case Insert():
            background = splat_of(graph, op.destination)
            return InteriorPadding(op.source, op.offsets, op.strides, background)
        case Scatter() if len(op.sources) == 1:
            return InteriorPadding(op.sources[0], op.offsets[0], op.strides, op.background)
        case Pad():
            inner = interior_padding(graph, op.source)
            if inner is None or inner.background is None:
                return None
            if not is_same(inner.background, op.value, graph.types[op.source].element):
                return None
            moved = tuple(o + low for o, low in zip(inner.offsets, op.low, strict=True))
            return replace(inner, offsets=moved)
        case _:
            return None


def _splat_by(graph: Graph, op: Op) -> str | None:
    match op:
        case Constant():
            return op.splat
        case Structured() if not op.reduction_dims and not op.sources:
            return fill_value(op.body)
        case Structured() if op.is_copy and len(op.sources) == 1:
            return splat_of(graph, op.sources[0])
        case Slice() | Reshape():
            return splat_of(graph, op.source)
        case Pad():
            inner = splat_of(graph, op.source)
            element = graph.types[op.source].element
            return inner if inner is not None and is_same(inner, op.value, element) else None
        case _:
            return None
