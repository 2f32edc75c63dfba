"""A dispatch that only moves data and computes point by point, as one op over its result.

    s = slice x[.., 0:8]; t = concat(-s[4:], s[:4]); y = concat(s * cos + t * sin, x[.., 8:])
      ->
    y[i] = generic { i < 8 ? x[i] * cos[i] + (i < 4 ? -x[i + 4] : x[i - 4]) * sin[i] : x[i] }

IREE copies the parts of a concat one by one, each in a dispatch of its own, unless it knows the
pattern. Here each point works out where what it is made of lies. The same scalar ops run on the
same numbers: results are equal bit by bit.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import accumulate

from layoutopt.ir.affine import Affine, plain_dims
from layoutopt.ir.extensions.computed_reads import ComputedReads
from layoutopt.ir.graph import (
    Concat,
    Fill,
    FromTensor,
    Graph,
    Op,
    Pad,
    Reshape,
    Scatter,
    Slice,
    Structured,
    kind_name,
)
from layoutopt.ir.index_values import IndexValues
from layoutopt.ir.reassociation import reassociation
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, pruned, scalar_constant
from layoutopt.ir.size import bounds
from layoutopt.ir.types import TensorType

MOST_OPS = 256
"""Scalar ops of one point: beyond, computing what is read costs more than storing it."""

READ = "tensor.extract"
"""An op of a point's body: reads the tensor that its ``source`` numbers, at a place."""


def puts_together(op: Op) -> bool:
    """Whether an op makes one tensor of parts, or of a part and what surrounds it."""
    return isinstance(op, Concat | Scatter | Pad)


def in_one_pass(graph: Graph) -> Graph | Refusal:
    """The graph with one op for each of its results.

    Refused where an op reduces, reads places that tensors say, or where nothing is put together.
    And where a part may be empty: each point reads all of them, and keeps one.
    """
    made_of_parts = [op for op in graph.ops if puts_together(op)]
    if not made_of_parts:
        return Refusal("expected parts that are put together, but got none")
    sizes = [n for op in made_of_parts for n in _part_sizes(op, graph.types)]
    empty = next((n for n in sizes if bounds(n)[0] < 1), None)
    if empty is not None:
        return Refusal(f"expected parts of which none may be empty, but got one of size {empty}")
    refusal = unlike_points(graph)
    if refusal is not None:
        return refusal
    types, ops = [*graph.types], list[Op]()
    for tensor in graph.outputs:
        body = Point(graph, tensor).body()
        if len(body.ops) > MOST_OPS:
            return Refusal(f"expected at most {MOST_OPS} ops for a point, but got {len(body.ops)}")
        ops += _over_whole_dims(body, tensor, types)
    return replace(graph, types=tuple(types), ops=tuple(ops), names=())


def unlike_points(graph: Graph) -> Refusal | None:
    """Why the graph does not compute point by point; None where it does."""
    for op in graph.ops:
        if not (isinstance(op, Slice | Reshape) or puts_together(op) or _is_pointwise(op)):
            return Refusal(f"expected ops that compute point by point, but got {kind_name(op)}")
    return None


def _part_sizes(op: Op, types: Sequence[TensorType]) -> Iterator[int]:
    """The sizes of parts along the dims that they are put together along."""
    for source in op.inputs:
        shape = types[source].shape
        yield from shape if not isinstance(op, Concat) else (shape[op.axis],)


def _is_pointwise(op: Op) -> bool:
    """Whether each loop of an op is a dim of every result of it, or runs once."""
    if not isinstance(op, Structured) or op.reduction_dims:
        return False
    for index_map in op.result_maps:
        dims = plain_dims(index_map)
        if dims is None or any(n != 1 for d, n in enumerate(op.domain) if d not in dims):
            return False
    return True


@dataclass
class Point:
    """What one point of a tensor is computed from; dims of size one are left out of all places."""

    graph: Graph
    tensor: int
    parted: tuple[tuple[int, ...], ...] = ()
    """The sizes of the loops of each dim, outer ones first; where empty, each dim is one loop."""
    values: IndexValues = field(init=False)
    _found: dict[tuple[int, tuple[int, ...]], int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        whole = whole_dims(self.graph.types[self.tensor].shape)
        self.parted = self.parted or tuple((n,) for n in whole)
        self.values = IndexValues(tuple(n for sizes in self.parted for n in sizes))

    def body(self) -> Body:
        """A body without arguments, whose reads name tensors."""
        values = self.values
        places = iter(self._places())
        shape = self.graph.types[self.tensor].shape
        place = tuple(values.number(0) if n == 1 else next(places) for n in shape)
        value = self._element(self.tensor, place)
        return pruned(Body((), tuple(values.ops), (value,)))

    def _places(self) -> Iterator[int]:
        """Where a point lies in each dim, from its loops."""
        values = self.values
        loops = iter(map(values.loop, range(len(values.loops))))
        for sizes in self.parted:
            place = next(loops)
            for size in sizes[1:]:
                place = values.part_of(place, size, next(loops))
            yield place

    def _element(self, tensor: int, place: tuple[int, ...]) -> int:
        """The element of a tensor at a place."""
        key = tensor, place
        if key not in self._found:
            makers = self.graph.producers[tensor]
            if not makers:
                kind = self.graph.types[tensor]
                whole = tuple(i for i, n in zip(place, kind.shape, strict=True) if n != 1)
                read = ScalarOp(READ, whole, kind.element, (("source", str(tensor)),))
                self._found[key] = self.values.add(read)
            else:
                self._found[key] = self._computed(self.graph.ops[makers[0]], tensor, place)
        return self._found[key]

    def _computed(self, op: Op, tensor: int, place: tuple[int, ...]) -> int:
        values = self.values
        match op:
            case Structured():
                return self._run(op, tensor, place)
            case Slice():
                moved = (
                    values.plus(values.times(i, stride), values.number(offset))
                    for i, stride, offset in zip(place, op.strides, op.offsets, strict=True)
                )
                return self._element(op.source, tuple(moved))
            case Reshape():
                source, result = (self.graph.types[t].shape for t in (op.source, op.result))
                return self._element(op.source, self._reshaped(source, result, place))
            case Concat():
                return self._joined(op, place)
            case Pad():
                steps = (1,) * len(place)
                return self._placed((op.source,), (op.low,), steps, op.value, place)
            case Scatter():
                return self._placed(op.sources, op.offsets, op.strides, op.background, place)
            case _:
                raise TypeError(type(op).__name__)

    def _run(self, op: Structured, tensor: int, place: tuple[int, ...]) -> int:
        """A body at a point of the loops."""
        values = self.values
        result = op.results.index(tensor)
        dims = plain_dims(op.result_maps[result])
        assert dims is not None
        loops = [values.number(0)] * len(op.domain)
        for dim, at in zip(dims, place, strict=True):
            loops[dim] = at
        number = {
            argument: self._element(source, tuple(self._at(form, loops) for form in index_map))
            for argument, (source, index_map) in enumerate(
                zip(op.sources, op.source_maps, strict=True)
            )
            if op.body.used(argument)
        }
        for argument, init in enumerate(op.inits, len(op.sources)):
            kind = op.body.arguments[argument]
            if isinstance(init, Fill):
                number[argument] = values.add(scalar_constant(init.value, kind))
            elif isinstance(init, FromTensor):
                number[argument] = self._element(init.tensor, place)
        for own, scalar in enumerate(op.body.ops, len(op.body.arguments)):
            if scalar.name == "linalg.index":
                number[own] = loops[int(scalar.attribute("dim"))]
            else:
                operands = tuple(number[o] for o in scalar.operands)
                number[own] = values.add(replace(scalar, operands=operands))
        return number[op.body.yields[result]]

    def _at(self, form: Affine, loops: Sequence[int]) -> int:
        values = self.values
        total = values.number(form.offset)
        for dim, coefficient in form.terms:
            total = values.plus(total, values.times(loops[dim], coefficient))
        return total

    def _joined(self, op: Concat, place: tuple[int, ...]) -> int:
        """The element of the part that a place lies in; what is read of the others is dropped."""
        values, at = self.values, place[op.axis]
        sizes = [self.graph.types[source].shape[op.axis] for source in op.sources]
        begins = accumulate(sizes[:-1], initial=0)
        parts = [*zip(op.sources, begins, sizes, strict=True)]
        found: int | None = None
        for source, begin, size in reversed(parts):
            inside = values.at_most(values.beyond(at, begin), size)
            here = self._element(source, (*place[: op.axis], inside, *place[op.axis + 1 :]))
            below = values.less(at, begin + size)
            if found is None or below is None:
                found = here
            else:
                kind = self.graph.types[source].element
                found = values.add(ScalarOp("arith.select", (below, here, found), kind))
        assert found is not None
        return found

    def _placed(
        self,
        sources: Sequence[int],
        offsets: Sequence[tuple[int, ...]],
        strides: tuple[int, ...],
        background: str | None,
        place: tuple[int, ...],
    ) -> int:
        """The element of the source that a place belongs to, or what is everywhere else."""
        values, kind = self.values, self.graph.types[sources[0]].element
        found = None if background is None else values.add(scalar_constant(background, kind))
        for source, begins in zip(sources, offsets, strict=True):
            shape = self.graph.types[source].shape
            inside: list[int] = []
            tests: list[int] = []
            for at, begin, step, size in zip(place, begins, strides, shape, strict=True):
                tests += values.at_least(at, begin)
                index, rest = values.parts(values.beyond(at, begin), step)
                tests += values.is_zero(rest)
                below = values.less(index, size)
                tests += () if below is None else (below,)
                inside.append(values.at_most(index, size))
            here = self._element(source, tuple(inside))
            if found is not None and tests:
                hit = reduce(lambda a, b: values.add(ScalarOp("arith.andi", (a, b), "i1")), tests)
                here = values.add(ScalarOp("arith.select", (hit, here, found), kind))
            found = here
        assert found is not None
        return found

    def _reshaped(
        self, source: tuple[int, ...], result: tuple[int, ...], place: tuple[int, ...]
    ) -> tuple[int, ...]:
        """Where an element lies ahead of a reshape."""
        values = self.values
        if source == result:
            return place
        merged = reassociation(result, source)
        if merged is not None:
            found = [values.number(0)] * len(source)
            for at, group in zip(place, merged, strict=True):
                rest = at
                open_dims = [d for d in group if source[d] != 1]
                for dim in reversed(open_dims[1:]):
                    rest, found[dim] = values.parts(rest, source[dim])
                if open_dims:
                    found[open_dims[0]] = rest
            return tuple(found)
        parted = reassociation(source, result)
        if parted is not None:
            whole = []
            for group in parted:
                at = values.number(0)
                for dim in group:
                    if result[dim] != 1:
                        at = values.part_of(at, result[dim], place[dim])
                whole.append(at)
            return tuple(whole)
        flat = values.number(0)
        for n, at in zip(result, place, strict=True):
            flat = values.part_of(flat, n, at)
        found = [values.number(0)] * len(source)
        for dim in reversed([d for d, n in enumerate(source) if n != 1][1:]):
            flat, found[dim] = values.parts(flat, source[dim])
        first = next((d for d, n in enumerate(source) if n != 1), None)
        if first is not None:
            found[first] = flat
        return tuple(found)


def whole_dims(shape: Sequence[int]) -> tuple[int, ...]:
    """The sizes that are not one."""
    return tuple(n for n in shape if n != 1)


def _over_whole_dims(body: Body, result: int, types: list[TensorType]) -> Iterator[Op]:
    """The op of a body, with reshapes that leave out dims of size one; ``types`` grows."""

    def whole(tensor: int) -> int:
        kind = types[tensor]
        if 1 not in kind.shape:
            return tensor
        types.append(replace(kind, shape=whole_dims(kind.shape)))
        return len(types) - 1

    op = _op(body, result)
    sources = tuple(map(whole, op.sources))
    made = whole(result)
    yield from (Reshape(t, n) for t, n in zip(op.sources, sources, strict=True) if t != n)
    yield replace(op, sources=sources, results=(made,))
    if made != result:
        yield Reshape(made, result)


def _op(body: Body, result: int) -> ComputedReads:
    """The op of a body without arguments whose reads name tensors.

    A tensor that is read along loops alone becomes an argument.
    """
    places: dict[int, set[tuple[int, ...]]] = {}
    for op in body.ops:
        if op.name == READ:
            places.setdefault(int(op.attribute("source")), set()).add(op.operands)
    maps = {t: loops for t, read in places.items() if (loops := _loops(body, read)) is not None}
    sources = (*maps, *(t for t in places if t not in maps))
    number: dict[int, int] = {}
    ops: list[ScalarOp] = []
    for value, op in enumerate(body.ops):
        source = int(op.attribute("source")) if op.name == READ else None
        if source in maps:
            number[value] = sources.index(source)
            continue
        number[value] = len(maps) + len(ops)
        operands = tuple(number[o] for o in op.operands)
        attributes = op.attributes
        if source is not None:
            attributes = (("source", str(sources.index(source))),)
        ops.append(replace(op, operands=operands, attributes=attributes))
    elements = tuple(_kind_read(body, t) for t in maps)
    made = pruned(Body(elements, tuple(ops), (number[body.yields[0]],)))
    return ComputedReads(sources, (result,), tuple(maps.values()), made)


def _loops(body: Body, places: set[tuple[int, ...]]) -> tuple[int, ...] | None:
    """The loops that a tensor is read along; None where it is read otherwise, or in two ways."""
    if len(places) != 1:
        return None
    (place,) = places
    ops = [body.ops[value] for value in place]
    if any(op.name != "linalg.index" for op in ops):
        return None
    loops = tuple(int(op.attribute("dim")) for op in ops)
    return loops if len({*loops}) == len(loops) else None


def _kind_read(body: Body, tensor: int) -> str:
    name = str(tensor)
    return next(o.type for o in body.ops if o.name == READ and o.attribute("source") == name)
