"""Weights that are other weights, moved: computed from one file into another.

A graph of reshapes, transposes, packs, slices, pads and concats only moves data, so its result is
the same to the last bit wherever it is computed. Ops that read memory in another order are views
of it; what no view can be is written to a file without a name. No tensor is ever held in memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from layoutopt.ir.affine import IndexMap, plain_dims
from layoutopt.ir.graph import Concat, Constant, Graph, Op, Pack, Pad, Reshape, Slice, Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.scalar import fill_value
from layoutopt.ir.types import Array, TensorType, element_bytes, is_stored_in_bytes, numpy_dtype
from layoutopt.oracle.constant import constant
from layoutopt.parameters.stream import ByteFile, copy_blocks, temporary_file


def not_a_movement(graph: Graph) -> str | None:
    """Why a graph cannot be computed here, None where it can.

    The reason reads on from "because".
    """
    for op in graph.ops:
        elements = [graph.types[t].element for t in op.outputs]
        small = next((e for e in elements if not is_stored_in_bytes(e)), None)
        if small is not None:
            return f"elements of type {small} take no whole bytes"
        if not _is_movement(op):
            return f"{_name(op)} computes new values"
        value = _constant_of(op)
        if value is not None and constant(value, elements[0]) is None:
            return f"constants of type {elements[0]} are not known here"
    return None


def _is_movement(op: Op) -> bool:
    if isinstance(op, Structured):
        return _filled(op) is not None or (
            op.is_copy
            and len(op.sources) == len(op.results) == 1
            and sorted(plain_dims(op.result_maps[0]) or ()) == list(range(len(op.domain)))
        )
    if isinstance(op, Pack):
        return True
    return isinstance(op, Reshape | Slice | Pad | Concat | Constant)


def _name(op: Op) -> str:
    if isinstance(op, Structured) and op.body.ops:
        return op.body.ops[-1].name
    return type(op).__name__.lower()


def _constant_of(op: Op) -> str | None:
    """The constant that an op writes somewhere, as MLIR text."""
    if isinstance(op, Pad):
        return op.value
    if isinstance(op, Structured):
        return _filled(op)
    if isinstance(op, Constant):
        return op.splat
    return op.padding if isinstance(op, Pack) else None


def _filled(op: Structured) -> str | None:
    return fill_value(op.body) if not op.sources and not op.reduction_dims else None


class Movement:
    """One graph over views of files. ``leaves``: by tensor, of its shape and `raw_type`."""

    def __init__(
        self,
        graph: Graph,
        leaves: Mapping[int, Array],
        files: Sequence[ByteFile],
        folder: Path,
    ) -> None:
        """``files``: those under ``leaves`` and the target; ``folder``: for files between."""
        self._graph = graph
        self._views = dict(leaves)
        self._files = list(files)
        self._folder = folder

    def rows(self, tensor: int) -> int:
        """Into how many equal parts, one behind another in memory, a tensor may be split."""
        if self._needs_file(tensor):
            return 1
        shape = self._shape(self._unshaped(tensor))
        return shape[0] if shape else 1

    def store_rows(self, tensor: int, rows: slice, target: Array) -> None:
        """Write some of the `rows` of a tensor to ``target``, as `store` does with the whole."""
        source = self._unshaped(tensor)
        whole = target.reshape(self._shape(source))
        if not whole.ndim or self._needs_file(tensor):
            self.store(tensor, target)
        else:
            self._copy(self._view(source)[rows], whole[rows])

    def _unshaped(self, tensor: int) -> int:
        """The tensor that a tensor is a reshape of."""
        while tensor not in self._views:
            op = self._graph.ops[self._graph.producers[tensor][0]]
            if not isinstance(op, Reshape):
                break
            tensor = op.source
        return tensor

    def store(self, tensor: int, target: Array) -> None:
        """Write a tensor to ``target``, contiguous, of the tensor's shape and `raw_type`."""
        tensor = self._unshaped(tensor)
        target = target.reshape(self._shape(tensor))
        if tensor in self._views:
            self._copy(self._views[tensor], target)
            return
        op = self._graph.ops[self._graph.producers[tensor][0]]
        if isinstance(op, Pad):
            kind = self._graph.types[tensor]
            self._copy(_scalar(op.value, kind.element, kind.shape), target)
            self._copy(self._view(op.source), target[_interior(op.low, self._shape(op.source))])
        elif isinstance(op, Concat):
            at = 0
            for source in op.sources:
                size = self._shape(source)[op.axis]
                place = (slice(None),) * op.axis + (slice(at, at + size),)
                self._copy(self._view(source), target[place])
                at += size
        elif isinstance(op, Pack) and self._is_written(op):
            self._store_padded(op, target)
        else:
            self._copy(self._view(tensor), target)

    def _store_padded(self, op: Pack, target: Array) -> None:
        source = self._shape(op.source)
        tiles = map(op.layout.tile_of, range(len(source)))
        whole = tuple(-(-n // t) * t for n, t in zip(source, tiles, strict=True))
        padded = self._between(whole, target.dtype)
        self._copy(_scalar(op.padding or "0", self._graph.types[op.source].element, whole), padded)
        self._copy(self._view(op.source), padded[_interior((0,) * len(source), source)])
        self._copy(_packed(padded, op.layout), target)

    def is_splat(self, tensor: int) -> bool:
        """Whether one element of the sources repeats all over: nothing needs to be written."""
        if tensor in self._views:
            return not any(self._views[tensor].strides)
        op = self._graph.ops[self._graph.producers[tensor][0]]
        return not self._is_written(op) and all(map(self.is_splat, op.inputs))

    def element(self, tensor: int) -> bytes:
        """The bytes of a splat's element."""
        view = self._view(tensor)
        return bytes(view[(slice(0, 1),) * view.ndim].tobytes())

    def _needs_file(self, tensor: int) -> bool:
        """Whether some op on the way to a tensor is not a view of what it reads."""
        if tensor in self._views:
            return False
        op = self._graph.ops[self._graph.producers[tensor][0]]
        return self._is_written(op) or any(map(self._needs_file, op.inputs))

    def _is_written(self, op: Op) -> bool:
        """Whether an op makes something that no view of its inputs is."""
        padded = isinstance(op, Pack) and op.layout.pads(self._shape(op.source))
        return padded or isinstance(op, Pad | Concat)

    def _view(self, tensor: int) -> Array:
        if tensor not in self._views:
            op = self._graph.ops[self._graph.producers[tensor][0]]
            self._views[tensor] = self._viewed(op, tensor)
        return self._views[tensor]

    def _viewed(self, op: Op, tensor: int) -> Array:
        shape = self._shape(tensor)
        value = _constant_of(op)
        if isinstance(op, Structured | Constant) and value is not None:
            return _scalar(value, self._graph.types[tensor].element, shape)
        if isinstance(op, Structured):
            return _read(self._view(op.sources[0]), op, shape)
        if isinstance(op, Slice):
            index = zip(op.offsets, shape, op.strides, strict=True)
            return self._view(op.source)[tuple(slice(o, o + n * s, s) for o, n, s in index)]
        if isinstance(op, Pack) and not self._is_written(op):
            return _packed(self._view(op.source), op.layout)
        if isinstance(op, Reshape):
            source = self._view(op.source)
            if not any(source.strides):
                return np.broadcast_to(source[(0,) * source.ndim], shape)
            if source.flags.c_contiguous:
                return source.reshape(shape)
            whole = self._between(source.shape, source.dtype)
            self._copy(source, whole)
            return whole.reshape(shape)
        whole = self._between(shape, raw_type(self._graph.types[tensor]))
        self.store(tensor, whole)
        return whole

    def _between(self, shape: tuple[int, ...], kind: np.dtype[np.generic]) -> Array:
        elements = int(np.prod(shape, dtype=np.int64))
        made = temporary_file(self._folder, elements * kind.itemsize)
        self._files.append(made)
        return made.bytes.view(kind).reshape(shape)

    def _shape(self, tensor: int) -> tuple[int, ...]:
        return self._graph.types[tensor].shape

    def _copy(self, source: Array, target: Array) -> None:
        copy_blocks(source, target, self._files)


def raw_type(kind: TensorType) -> np.dtype[np.generic]:
    """An unsigned integer, or bytes, as wide as an element: values are moved, never looked at."""
    width = element_bytes(kind.element)
    return np.dtype(f"u{width}" if width <= 8 else f"V{width}")


def _scalar(text: str, element: str, shape: tuple[int, ...]) -> Array:
    """A constant, given as MLIR text, all over a shape."""
    value = constant(text, element)
    assert value is not None, f"no value of type {element}: {text}"
    raw = np.asarray(value, numpy_dtype(element)).view(raw_type(TensorType((), element)))
    return np.broadcast_to(raw.reshape(()), shape)


def _interior(low: tuple[int, ...], shape: tuple[int, ...]) -> tuple[slice, ...]:
    return tuple(slice(at, at + n) for at, n in zip(low, shape, strict=True))


def _packed(array: Array, layout: Layout) -> Array:
    """The array as it lies in a layout whose tiles divide it, without moving anything."""
    split: list[int] = []
    strides: list[int] = []
    for d, (n, stride) in enumerate(zip(array.shape, array.strides, strict=True)):
        tile = layout.tile_of(d)
        split += [n // tile, tile]
        strides += [stride * tile, stride]
    order = [2 * d for d in layout.outer_dims_perm] + [2 * d + 1 for d in layout.inner_dims_pos]
    return _strided(array, [split[i] for i in order], [strides[i] for i in order])


def _read(array: Array, op: Structured, shape: tuple[int, ...]) -> Array:
    """What a copy makes of an array: dim i of the result walks the source by some stride."""
    loops = plain_dims(op.result_maps[0]) or ()
    source: IndexMap = op.source_maps[0]
    start = array[tuple(slice(form.offset, None) for form in source)]
    strides = [
        sum(form.coefficient(d) * s for form, s in zip(source, array.strides, strict=True))
        for d in loops
    ]
    return _strided(start, list(shape), strides)


def _strided(array: Array, shape: list[int], strides: list[int]) -> Array:
    return np.lib.stride_tricks.as_strided(array, shape, strides, writeable=False)
