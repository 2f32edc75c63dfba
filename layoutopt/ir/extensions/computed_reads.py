"""``linalg.generic`` that reads tensors at places which its body computes: resizing by any factor.

generic { i = fptosi(floor(..linalg.index 2..)); e = tensor.extract x[c, i, ..]; yield .. e .. }

reads(a:L, x:L') -> y:L''        where each is any order of its dims, without tiles

The loops are the dims of the result as it lies in memory.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from layoutopt.ir.affine import identity_map, map_text, plain_map
from layoutopt.ir.body_text import body_lines
from layoutopt.ir.extension import BoundedExtension, Compute, Known, Occurrence
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.region import plain_maps
from layoutopt.ir.scalar import Body, ScalarOp, pruned
from layoutopt.ir.size_values import empty_text
from layoutopt.ir.types import Array, TensorType

_EXTRACT = "tensor.extract"
_NOTHING = Body((), (), ())


@dataclass(frozen=True, slots=True)
class ComputedReads(BoundedExtension):
    """``sources``: those read along loops, by ``maps``, then those read at computed places.

    ``body``: over elements of the first; its ``tensor.extract`` names a source by its number.
    """

    maps: tuple[tuple[int, ...], ...] = ()
    body: Body = _NOTHING

    mlir_name = "linalg.generic"
    is_fallback = True

    @classmethod
    def operands(cls, operation: Any) -> Sequence[Any]:
        """The inputs, then the tensors that the body reads, in order of first use."""
        block = operation.regions[0].blocks[0]
        reads = [o.operation for o in block.operations if o.operation.name == _EXTRACT]
        inputs = list(operation.operands)[: -len(operation.results)]
        return [*inputs, *dict.fromkeys(read.operands[0] for read in reads)]

    @classmethod
    def read(cls, found: Occurrence) -> ComputedReads | Refusal:
        """The op; its loops have to be the dims of one result, and its body to stand alone."""
        maps = plain_maps(str(found.operation.attributes["indexing_maps"]))
        rank = len(found.types[found.results[0]].shape)
        if maps is None or len(found.results) != 1 or sorted(maps[-1]) != list(range(rank)):
            return Refusal("expected loops that are the dims of one result, but got others")
        if len(maps) - 1 == len(found.sources) or "reduction" in str(
            found.operation.attributes["iterator_types"]
        ):
            return Refusal("expected parallel loops and a read at a computed place, but got others")
        body = _body(found.operation, len(maps) - 1, cls.operands(found.operation))
        if body is None:
            return Refusal("expected scalar ops and constants in the body, but got others")
        if _given_places(body) is None:
            return Refusal("expected places that loops or inputs say, but got others")
        number = {loop: place for place, loop in enumerate(maps[-1])}
        own = tuple(tuple(number[d] for d in one) for one in maps[:-1])
        return cls(found.sources, found.results, own, body.with_index_dims(number))

    @classmethod
    def examples(cls) -> tuple[tuple[ComputedReads, tuple[TensorType, ...]], ...]:
        """Rows between two others, by thirds of a step; and what is added along a loop."""
        table, result = TensorType((2, 3, 5), "f32"), TensorType((2, 7, 3), "f32")
        along = TensorType((7,), "f32")
        return (
            (cls((0,), (1,), (), _resized(("f32",)[1:])), (table, result)),
            (cls((0, 1), (2,), ((1,),), _resized(("f32",))), (along, table, result)),
        )

    def emit(self, types: Sequence[TensorType]) -> list[str]:
        """The generic."""
        (result,) = self.results
        kind, count = types[result], len(self.maps)
        rank = len(kind.shape)
        maps = [map_text(m, rank) for m in (*map(plain_map, self.maps), identity_map(rank))]
        inputs = self.sources[:count]
        names, kinds = (
            ", ".join(f"%t{t}" for t in inputs),
            ", ".join(str(types[t]) for t in inputs),
        )
        arguments = [f"%b{i}" for i in range(count)]
        tables = [(f"%t{t}", str(types[t])) for t in self.sources]
        lines, values = body_lines(self.body, arguments, tables=tables)
        elements = (*self.body.arguments, kind.element)
        header = ", ".join(f"%b{i}: {e}" for i, e in enumerate(elements))
        iterators = ", ".join(['"parallel"'] * rank)
        return [
            f"  %t{result}_empty = {empty_text(kind)}",
            f"  %t{result} = linalg.generic {{indexing_maps = [{', '.join(maps)}], "
            f"iterator_types = [{iterators}]}} {f'ins({names} : {kinds}) ' if inputs else ''}"
            f"outs(%t{result}_empty : {kind}) {{",
            f"  ^bb0({header}):",
            *lines,
            f"    linalg.yield {values[self.body.yields[0]]} : {kind.element}",
            f"  }} -> {kind}",
        ]

    def positions(self, types: Sequence[TensorType]) -> dict[int, tuple[int, ...]]:
        """The inputs that say places, by the dims that they are places in."""
        found: dict[int, tuple[int, ...]] = {}
        for argument, source, dim in _given_places(self.body) or ():
            size = types[self.sources[source]].shape[dim]
            known = found.get(self.sources[argument], (size,))
            found[self.sources[argument]] = (min(size, *known),)
        return found

    def loops(self, types: Sequence[TensorType]) -> Mapping[int, Sequence[Hashable]]:
        """Those of the result."""
        (result,) = self.results
        maps = zip(self.sources, self.maps, strict=False)
        return {result: range(len(types[result].shape)), **dict(maps)}

    def bounded(
        self, given: Sequence[Known], types: Sequence[TensorType], compute: Compute
    ) -> tuple[Known, ...]:
        """All points at once; a place outside of a tensor has no meaning."""
        shape = types[self.results[0]].shape
        values: list[Known] = [
            (_along(v, m, len(shape)), None if e is None else _along(e, m, len(shape)))
            for (v, e), m in zip(given, self.maps, strict=False)
        ]
        for op in self.body.ops:
            operands = [values[o] for o in op.operands]
            if op.name == "linalg.index":
                loop = int(op.attribute("dim"))
                values.append((_along(np.arange(shape[loop]), (loop,), len(shape)), None))
            elif op.name == _EXTRACT:
                values.append(_extracted(given[int(op.attribute("source"))], operands))
            else:
                kinds = [self.body.type_of(o) for o in op.operands]
                values.append(compute(op, kinds, operands))
        value, error = values[self.body.yields[0]]
        return ((np.broadcast_to(value, shape), error),)

    def propagate(
        self, types: Sequence[TensorType], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """The dims that move with one loop stand in the order of the loops."""
        tensors = (*self.inputs, *self.outputs)
        if layout.is_row_major or layout.is_tiled:
            found = {t: row_major(len(types[t].shape)) for t in tensors} | {tensor: layout}
            return self.refusal(found, types) or found
        loops = self._loops(types)
        rank = len(types[self.results[0]].shape)
        moved = [d for i in layout.outer_dims_perm if (d := loops[tensor][i]) is not None]
        shared = iter(moved)
        order = [next(shared) if d in moved else d for d in range(rank)]
        found = {t: _ordered(loops[t], order) for t in tensors} | {tensor: layout}
        return self.refusal(found, types) or found

    def refusal(self, layouts: Assignment, types: Sequence[TensorType]) -> Refusal | None:
        """No dim has a tile."""
        for own in (layouts[t] for t in (*self.inputs, *self.outputs)):
            if own.is_tiled:
                return Refusal(f"expected no tiles around reads at computed places, but got {own}")
        return None

    def moved(self, layouts: Mapping[int, Layout]) -> ComputedReads:
        """Loops in the order of the result, places in the order of what is read."""
        order = layouts[self.results[0]].outer_dims_perm
        number = {loop: place for place, loop in enumerate(order)}
        orders = [layouts[t].outer_dims_perm for t in self.sources]
        maps = tuple(
            tuple(number[own[d]] for d in along)
            for own, along in zip(self.maps, orders, strict=False)
        )

        def read(op: ScalarOp) -> ScalarOp:
            if op.name != _EXTRACT:
                return op
            along = orders[int(op.attribute("source"))]
            return replace(op, operands=tuple(op.operands[d] for d in along))

        body = replace(self.body, ops=tuple(map(read, self.body.ops)))
        return replace(self, maps=maps, body=body.with_index_dims(number))

    def _loops(self, types: Sequence[TensorType]) -> dict[int, tuple[int | None, ...]]:
        """The one loop that each dim of a tensor moves with, None for several or none."""
        (result,) = self.results
        found: dict[int, tuple[int | None, ...]] = {result: tuple(range(len(types[result].shape)))}
        found |= dict(zip(self.sources, self.maps, strict=False))
        moves: list[frozenset[int]] = [frozenset(m) for m in self.maps]
        for op in self.body.ops:
            own = frozenset().union(*(moves[o] for o in op.operands))
            if op.name == "linalg.index":
                own = frozenset([int(op.attribute("dim"))])
            if op.name == _EXTRACT:
                dims = [
                    next(iter(m)) if len(m) == 1 else None
                    for m in map(moves.__getitem__, op.operands)
                ]
                once = [d if dims.count(d) == 1 else None for d in dims]
                found.setdefault(self.sources[int(op.attribute("source"))], tuple(once))
            moves.append(own)
        return found


def _body(operation: Any, count: int, read: Sequence[Any]) -> Body | None:
    """The body over the elements of the first inputs, None where it holds anything else."""
    block = operation.regions[0].blocks[0]
    arguments = list(block.arguments)[:count]
    number: dict[Any, int] = {a: i for i, a in enumerate(arguments)}
    ops: list[ScalarOp] = []

    def add(made: Any, operands: Sequence[Any], attributes: Mapping[str, str]) -> None:
        places = tuple(number[v] for v in operands)
        number[made.results[0]] = count + len(ops)
        pairs = tuple(sorted(attributes.items()))
        ops.append(ScalarOp(made.name, places, str(made.results[0].type), pairs))

    *inside, closing = (op.operation for op in block.operations)
    for op in inside:
        if len(op.results) != 1 or list(op.regions):
            return None
        attributes = {name: str(op.attributes[name]) for name in op.attributes}
        operands = list(op.operands)
        if op.name == _EXTRACT:
            attributes = {"source": str(list(read).index(operands.pop(0)))}
        elif op.name == "linalg.index":
            attributes["dim"] = attributes["dim"].split()[0]
        for value in (v for v in operands if v not in number):
            made = getattr(value.owner, "operation", None)
            if made is None or made.name != "arith.constant":
                return None
            add(made, (), {"value": str(made.attributes["value"])})
        add(op, operands, attributes)
    if len(closing.operands) != 1 or closing.operands[0] not in number:
        return None
    body = Body(tuple(str(a.type) for a in arguments), tuple(ops), (number[closing.operands[0]],))
    return pruned(body)


def _given_places(body: Body) -> tuple[tuple[int, int, int], ...] | None:
    """Each place that an argument says: the argument, the source and its dim.

    None where a place is computed from arguments or from what was read: it may lie anywhere.
    """
    count = len(body.arguments)
    given = [True] * count
    found: list[tuple[int, int, int]] = []
    for op in body.ops:
        given.append(op.name == _EXTRACT or any(given[o] for o in op.operands))
        for dim, place in enumerate(op.operands if op.name == _EXTRACT else ()):
            cast = body.op_of(place)
            if not given[place]:
                continue
            if cast is None or cast.name != "arith.index_cast" or cast.operands[0] >= count:
                return None
            found.append((cast.operands[0], int(op.attribute("source")), dim))
    return tuple(found)


def _along(array: Array, loops: Sequence[int], rank: int) -> Array:
    """An array with its dims at those of the loops."""
    moved = array.transpose(sorted(range(len(loops)), key=list(loops).__getitem__))
    sizes = iter(moved.shape)
    return moved.reshape([next(sizes) if d in loops else 1 for d in range(rank)])


def _extracted(table: Known, places: Sequence[Known]) -> Known:
    value, error = table
    inside = tuple(
        np.clip(place.astype(np.int64), 0, n - 1)
        for (place, _), n in zip(places, value.shape, strict=True)
    )
    parts = [] if error is None else [np.broadcast_to(error, value.shape)[inside]]
    parts += [np.where(off > 0, np.inf, 0.0) for _, off in places if off is not None]
    return value[inside], sum(parts[1:], parts[0]) if parts else None


def _ordered(own: Sequence[int | None], order: Sequence[int]) -> Layout:
    """Dims in the order of their loops; those without one stay where they are."""
    place = {i: order.index(d) for i, d in enumerate(own) if d is not None}
    following = iter(sorted(place, key=place.__getitem__))
    return Layout(tuple(next(following) if i in place else i for i in range(len(own))))


def _resized(elements: tuple[str, ...]) -> Body:
    """The middle of two columns of a tensor whose last dims change places, at 2/3 of a column."""
    first = len(elements)

    def text(value: str) -> tuple[tuple[str, str], ...]:
        return (("value", value),)

    exact = (("fastmath", "#arith.fastmath<none>"),)
    ops = [
        ScalarOp("linalg.index", (), "index", (("dim", "0"),)),
        ScalarOp("linalg.index", (), "index", (("dim", "1"),)),
        ScalarOp("linalg.index", (), "index", (("dim", "2"),)),
        ScalarOp("arith.index_cast", (first + 1,), "i64"),
        ScalarOp("arith.sitofp", (first + 3,), "f32"),
        ScalarOp("arith.constant", (), "f32", text("6.562500e-01 : f32")),
        ScalarOp("arith.mulf", (first + 4, first + 5), "f32", exact),
        ScalarOp("math.floor", (first + 6,), "f32", exact),
        ScalarOp("arith.fptosi", (first + 7,), "i64"),
        ScalarOp("arith.index_cast", (first + 8,), "index"),
        ScalarOp("arith.constant", (), "index", text("1 : index")),
        ScalarOp(
            "arith.addi",
            (first + 9, first + 10),
            "index",
            (("overflowFlags", "#arith.overflow<none>"),),
        ),
        ScalarOp(_EXTRACT, (first, first + 2, first + 9), "f32", (("source", str(first)),)),
        ScalarOp(_EXTRACT, (first, first + 2, first + 11), "f32", (("source", str(first)),)),
        ScalarOp("arith.addf", (first + 12, first + 13), "f32", exact),
    ]
    if elements:
        ops.append(ScalarOp("arith.addf", (0, first + 14), "f32", exact))
    return Body(elements, tuple(ops), (first + len(ops) - 1,))
