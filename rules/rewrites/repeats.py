"""Tensors that hold each element of a smaller one several times along a dim, and that one.

    collapse(broadcast(x))[.., a * g + b, ..] = x[.., a, ..]     b < g

Exporters write the keys and values of grouped queries so, with a transpose, a scale and reshapes
between the repetition and what reads it. Each of those does the same to what is repeated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from layoutopt.ir.affine import identity_map, plain_dims
from layoutopt.ir.graph import FromTensor, Graph, GraphBuilder, Op, Reshape, Structured
from layoutopt.ir.reassociation import reassociation
from layoutopt.ir.types import TensorType

_FURTHEST = 8
"""Ops from the repetition to what reads it."""


@dataclass(frozen=True, slots=True)
class Repeated:
    """A tensor whose dim ``axis`` is made of two, of which one repeats elements."""

    tensor: int
    axis: int
    parts: tuple[int, int]
    """The sizes of the two, the outer one first."""
    own: int
    """The place in ``parts`` of the one that does not repeat."""
    source: int
    """What is broadcast."""
    maker: Op
    """What makes the tensor: a reshape of the broadcast, or an op over another such tensor."""
    inner: Repeated | None = None
    """That tensor."""

    def once(self, graph: Graph, builder: GraphBuilder) -> int:
        """Add the ops that make it without repetitions; the tensor."""
        kind = graph.types[self.tensor]
        shape = list(kind.shape)
        shape[self.axis] = self.parts[self.own]
        if isinstance(self.maker, Structured):
            assert self.inner is not None, "the operand that repeats"
            return self._computed(self.inner.once(graph, builder), tuple(shape), graph, builder)
        smaller = self.source if self.inner is None else self.inner.once(graph, builder)
        if _type_of(graph, builder, smaller).shape == tuple(shape):
            return smaller
        made = builder.tensor(shape, kind.element)
        builder.add(Reshape(smaller, made))
        return made

    def _computed(
        self, smaller: int, shape: tuple[int, ...], graph: Graph, builder: GraphBuilder
    ) -> int:
        """The same op over fewer points."""
        op, inner = self.maker, self.inner
        assert isinstance(op, Structured)
        assert inner is not None
        (loop,) = op.result_maps[0][self.axis].dims
        made = builder.tensor(shape, graph.types[self.tensor].element)
        domain = list(op.domain)
        domain[loop] = self.parts[self.own]
        sources = tuple(smaller if t == inner.tensor else t for t in op.sources)
        builder.add(replace(op, sources=sources, results=(made,), domain=tuple(domain)))
        return made


def repeated(graph: Graph, tensor: int, steps: int = _FURTHEST) -> Iterator[Repeated]:
    """How a tensor repeats elements, for each way that it is made."""
    if not steps or tensor in graph.constants:
        return
    for index in graph.producers[tensor]:
        op = graph.ops[index]
        if isinstance(op, Reshape):
            yield from _repetition(graph, op)
            for inner in repeated(graph, op.source, steps - 1):
                axis = _same_dim(graph, op, inner.axis)
                if axis is not None:
                    yield replace(inner, tensor=tensor, axis=axis, maker=op, inner=inner)
        elif isinstance(op, Structured) and _computes_points(op):
            for operand in _largest(graph, op):
                for inner in repeated(graph, operand, steps - 1):
                    axis = _dim_through(op, inner)
                    if axis is not None:
                        yield replace(inner, tensor=tensor, axis=axis, maker=op, inner=inner)


def _repetition(graph: Graph, op: Reshape) -> Iterator[Repeated]:
    """The repetition itself."""
    fine = graph.types[op.source].shape
    groups = reassociation(graph.types[op.result].shape, fine)
    if not groups:
        return
    for index in graph.producers[op.source]:
        spread = graph.ops[index]
        read = _read_dims(graph, spread) if isinstance(spread, Structured) else None
        if read is None:
            continue
        repeats = {d for d, size in enumerate(fine) if size != 1 and d not in read}
        own = [axis for axis, group in enumerate(groups) if repeats.intersection(group)]
        if len(own) != 1:
            continue
        dims = [d for d in groups[own[0]] if fine[d] != 1]
        kinds = [d in repeats for d in dims]
        if sorted(kinds) != kinds and sorted(kinds, reverse=True) != kinds:
            continue
        sizes = [math.prod(fine[d] for d in dims if (d in repeats) is k) for k in (False, True)]
        place = int(kinds[0])  # what is repeated is the inner one where repetitions come first
        parts = (sizes[place], sizes[1 - place])
        yield Repeated(op.result, own[0], parts, place, spread.inputs[0], op)


def _read_dims(graph: Graph, op: Structured) -> set[int] | None:
    """The dims of a broadcast that its source has, in this order; None where it is no broadcast."""
    if not op.is_copy or len(op.sources) != 1 or op.maps[-1] != identity_map(len(op.domain)):
        return None
    read: list[int] = []
    for form, size in zip(op.maps[0], graph.types[op.sources[0]].shape, strict=True):
        if form.plain_dim is not None:
            read.append(form.plain_dim)
        elif form.dims or size != 1:
            return None
    in_order = sorted({*read}) == read
    return set(read) if in_order and len(read) < len(op.domain) else None


def _same_dim(graph: Graph, op: Reshape, axis: int) -> int | None:
    """The dim of the result that is ``axis`` of the source, where others come and go of size 1."""
    before, after = graph.types[op.source].shape, graph.types[op.result].shape
    kept = [[d for d, size in enumerate(shape) if size != 1] for shape in (before, after)]
    if [before[d] for d in kept[0]] != [after[d] for d in kept[1]] or axis not in kept[0]:
        return None
    return kept[1][kept[0].index(axis)]


def _computes_points(op: Structured) -> bool:
    """Whether each point of the one result is computed by itself."""
    return (
        op.is_elementwise
        and len(op.results) == 1
        and not op.body.reads_index
        and plain_dims(op.result_maps[0]) is not None
        and not any(isinstance(init, FromTensor) for init in op.inits)
    )


def _largest(graph: Graph, op: Structured) -> tuple[int, ...]:
    """The operand with as many elements as the result, where there is one."""
    elements = graph.types[op.results[0]].elements
    found = {t for t in op.sources if graph.types[t].elements == elements}
    return tuple(found) if len(found) == 1 else ()


def _dim_through(op: Structured, inner: Repeated) -> int | None:
    """The dim of the result along which it repeats as an operand does; None where it does not."""
    loops = {
        m[inner.axis].plain_dim
        for t, m in zip(op.sources, op.source_maps, strict=True)
        if t == inner.tensor
    }
    loop = next(iter(loops)) if len(loops) == 1 else None
    if loop is None:
        return None
    for tensor, index_map in zip(op.sources, op.source_maps, strict=True):
        reads = [d for d, form in enumerate(index_map) if loop in form.dims]
        if reads != ([inner.axis] if tensor == inner.tensor else []):
            return None
    dims = plain_dims(op.result_maps[0])
    return dims.index(loop) if dims is not None and loop in dims else None


def _type_of(graph: Graph, builder: GraphBuilder, tensor: int) -> TensorType:
    old = len(graph.types)
    return graph.types[tensor] if tensor < old else builder.types[tensor - old]
