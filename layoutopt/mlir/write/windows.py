"""Windows that stand in one place, over what they read and nothing else.

    y[n, f, 0] = x[n, c, 0 * 2 + k] * w[f, c, k]   of x[n, c, 0:3], k < 2

IREE drops the loop of one point, and with it what told that a part of a dim is read: it refuses
the op then, or, where a dim is open, merges the loops as if they ran along the whole dim.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from layoutopt.compiler.installed import quirks
from layoutopt.ir.affine import Affine
from layoutopt.ir.graph import DispatchRegion, Graph, Op, Slice, Structured
from layoutopt.ir.types import TensorType


def read_whole(graph: Graph) -> Graph:
    """The same graph with slices ahead of windows that stand in one place and read a part."""
    if not quirks().fusion.loses_unit_windows:
        return graph
    types = list(graph.types)
    ops = _with_slices(graph.ops, types)
    if len(types) == len(graph.types):
        return graph
    return replace(graph, types=tuple(types), ops=ops, names=())


def _with_slices(ops: tuple[Op, ...], types: list[TensorType]) -> tuple[Op, ...]:
    """The ops with slices among them; their types are added to ``types``."""
    made: list[Op] = []
    for op in ops:
        if isinstance(op, DispatchRegion):
            made.append(replace(op, ops=_with_slices(op.ops, types)))
        elif isinstance(op, Structured):
            place: dict[int, int] = {}
            for position, source in enumerate(op.sources):
                shape = _read_shape(op, position, types[source])
                if shape != types[source].shape:
                    place[position] = len(types)
                    types.append(TensorType(shape, types[source].element))
                    rank = len(shape)
                    made.append(Slice(source, place[position], (0,) * rank, (1,) * rank))
            made.append(_reading(op, place) if place else op)
        else:
            made.append(op)
    return tuple(made)


def _reading(op: Structured, place: Mapping[int, int]) -> Structured:
    return replace(op, sources=tuple(place.get(i, t) for i, t in enumerate(op.sources)))


def _read_shape(op: Structured, position: int, kind: TensorType) -> tuple[int, ...]:
    """The sizes of a source's dims, of those read by a window in one place what it reads."""
    return tuple(
        1 + sum(c * (op.domain[d] - 1) for d, c in form.terms) if _stands(form, op) else size
        for form, size in zip(op.source_maps[position], kind.shape, strict=True)
    )


def _stands(form: Affine, op: Structured) -> bool:
    """Whether a dim is read by a window whose place is a loop of one point."""
    place = [d for d in form.dims if type(op.domain[d]) is int and op.domain[d] == 1]
    forwards = all(c > 0 for _, c in form.terms)
    return len(form.terms) > 1 and bool(place) and forwards and form.offset == 0
