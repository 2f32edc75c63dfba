"""Operands that an op reads a part of, written as slices ahead of it where IREE needs that.

A window that stands in one place reads the first elements of a dim:

    y[n, f, 0] = x[n, c, 0 * 2 + k] * w[f, c, k]   of x[n, c, 0:3], k < 2

IREE drops the loop of one point, and with it what told that a part of a dim is read: it refuses
the op then, or, where a dim is open, merges the loops as if they ran along the whole dim.

Elements a stride apart are read by a map that is no permutation of loops:

    y[h, w, c] = x[h * 4 + 1, w * 4 + 2, c]        of x[1::4, 2::4, c]

IREE makes vectors of ops whose maps are, and computes others one number at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.compiler.installed import quirks
from layoutopt.ir.affine import Affine, IndexMap, dim, plain_dims
from layoutopt.ir.graph import DispatchRegion, Graph, Op, Slice, Structured
from layoutopt.ir.types import TensorType


@dataclass(frozen=True, slots=True)
class _Part:
    """What an op reads of an operand, and by which map it reads a tensor of that alone."""

    offsets: tuple[int, ...]
    strides: tuple[int, ...]
    shape: tuple[int, ...]
    map: IndexMap


def slice_reads(graph: Graph) -> Graph:
    """The same graph with slices ahead of such ops."""
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
            continue
        if isinstance(op, Structured):
            for position, source in enumerate(op.sources):
                part = _part(op, position, types[source])
                if part is None:
                    continue
                cut = len(types)
                types.append(TensorType(part.shape, types[source].element))
                made.append(Slice(source, cut, part.offsets, part.strides))
                op = _reading(op, position, cut, part.map)  # noqa: PLW2901 -- operand by operand
        made.append(op)
    return tuple(made)


def _reading(op: Structured, position: int, tensor: int, by: IndexMap) -> Structured:
    sources, maps = list(op.sources), list(op.maps)
    sources[position], maps[position] = tensor, by
    return replace(op, sources=tuple(sources), maps=tuple(maps))


def _part(op: Structured, position: int, kind: TensorType) -> _Part | None:
    """The part of an operand that is to be cut out; None where it is read as it is."""
    fusion = quirks().fusion
    if not fusion.vectorizes_strided_reads and _is_strided(op, position):
        return _strided(op, op.source_maps[position])
    if not fusion.loses_unit_windows:
        return None
    shape = _read_shape(op, position, kind)
    none, ones = (0,) * len(shape), (1,) * len(shape)
    same = op.source_maps[position]
    return _Part(none, ones, shape, same) if shape != kind.shape else None


def _is_strided(op: Structured, position: int) -> bool:
    """Whether each dim is read by a loop of its own, some not from end to end.

    Not along the last dim: vectors of what lies apart in memory are slower than single numbers.
    """
    found = op.source_maps[position]
    loops = [d for form in found for d in form.dims]
    return (
        op.is_elementwise
        and plain_dims(found) is None
        and all(len(form.terms) == 1 and form.terms[0][1] > 0 for form in found)
        and len(set(loops)) == len(loops)
        and found[-1].terms[0][1] == 1
    )


def _strided(op: Structured, found: IndexMap) -> _Part:
    loops = [form.dims[0] for form in found]
    return _Part(
        tuple(form.offset for form in found),
        tuple(form.terms[0][1] for form in found),
        tuple(op.domain[d] for d in loops),
        tuple(map(dim, loops)),
    )


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
