"""Take out what moves nothing: copies and reshapes that are the identity."""

from __future__ import annotations

from dataclasses import replace

from layoutopt.ir.affine import plain_dims
from layoutopt.ir.graph import (
    Graph,
    Op,
    Reshape,
    Structured,
)
from layoutopt.ir.renaming import renamed
from layoutopt.ir.types import TensorType


def simplified(graph: Graph) -> Graph:
    """The same graph without identity copies; a copy that only moves unit dims is a reshape."""
    same: dict[int, int] = {}

    def root(tensor: int) -> int:
        while tensor in same:
            tensor = same[tensor]
        return tensor

    ops: list[Op] = []
    for op in graph.ops:
        plain = _as_reshape(op, graph.types)
        if (
            isinstance(plain, Reshape)
            and (graph.types[plain.source].shape == graph.types[plain.result].shape)
            and plain.result not in graph.outputs
        ):
            same[plain.result] = root(plain.source)
            continue
        ops.append(renamed(plain, root))
    return replace(graph, ops=tuple(ops))


def _as_reshape(op: Op, types: tuple[TensorType, ...]) -> Op:
    if not isinstance(op, Structured) or not op.is_copy or len(op.maps) != 2:
        return op
    source, result = plain_dims(op.maps[0]), plain_dims(op.maps[1])
    if source is None or result is None or sorted(source) != sorted(result):
        return op
    moving = [[d for d in dims if op.domain[d] != 1] for dims in (source, result)]
    return Reshape(op.sources[0], op.results[0]) if moving[0] == moving[1] else op
