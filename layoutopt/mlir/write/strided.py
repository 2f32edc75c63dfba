"""Barriers around strided inserts, of which IREE's folding loses the strides.

    pad(insert_slice(x, fill, strides))            insert_slice(pad(x), fill, strides)

It makes one insert of the two, at places that hold for strides of one only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from layoutopt.compiler.installed import quirks
from layoutopt.ir.graph import Concat, FusionBarrier, Graph, Insert, Op, Pad, Reshape, Scatter
from layoutopt.ir.renaming import renamed
from layoutopt.ir.types import TensorType


def kept_apart(graph: Graph) -> Graph:
    """The same graph with barriers where a strided insert meets what places tensors too."""
    if not quirks().fusion.loses_strides or not any(map(_is_strided, graph.ops)):
        return graph
    maker = {t: op for op in graph.ops for t in op.outputs}
    types: list[TensorType] = list(graph.types)
    behind: dict[int, int] = {}
    ops: list[Op] = []
    for op in graph.ops:
        apart = _apart(op, maker)
        for tensor in apart:
            if tensor not in behind:
                behind[tensor] = len(types)
                types.append(graph.types[tensor])
                ops.append(FusionBarrier(tensor, behind[tensor]))
        place = {t: behind[t] for t in apart}
        ops.append(_reading(op, place) if place else op)
    return replace(graph, types=tuple(types), ops=tuple(ops), names=())


def _reading(op: Op, place: Mapping[int, int]) -> Op:
    return renamed(op, lambda tensor: place.get(tensor, tensor))


def _apart(op: Op, maker: Mapping[int, Op]) -> tuple[int, ...]:
    """The tensors that an op reads and that have to be behind a barrier."""
    if not _places(op):
        return ()
    made = ((t, _origin(t, maker)) for t in dict.fromkeys(op.inputs))
    return tuple(
        t
        for t, by in made
        if by is not None and _places(by) and (_is_strided(op) or _is_strided(by))
    )


def _origin(tensor: int, maker: Mapping[int, Op]) -> Op | None:
    """What makes a tensor, reshapes aside."""
    op = maker.get(tensor)
    return _origin(op.source, maker) if isinstance(op, Reshape) else op


def _places(op: Op) -> bool:
    """Whether an op puts tensors into places of another one."""
    return isinstance(op, Pad | Insert | Concat) or (isinstance(op, Scatter) and not op.computed)


def _is_strided(op: Op) -> bool:
    if not isinstance(op, Insert | Scatter) or not _places(op):
        return False
    return any(stride != 1 for stride in op.strides)
