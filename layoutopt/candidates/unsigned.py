"""Contractions of signed bytes as those of unsigned by signed ones.

    sum(x * w)   ->   sum(u * w) - 128 * sum(w)        with u = x + 128, which no sign bit holds

x86-64 multiplies four unsigned bytes by signed ones and adds the products up in one instruction
(VNNI's ``vpdpbusd``); signed by signed ones it multiplies in pairs, after widening them. Sound
since integers modulo 2^32 are a ring; as bytes, u is x with its highest bit the other way.

Fusion barriers stand on both sides of the contraction: with IREE 3.13 a pack takes fifty times as
long where it shares a dispatch with what makes u, and what reads the sums beside another tensor
does not compile over tiles.
"""

from __future__ import annotations

import operator
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from dataclasses import replace

from layoutopt.ir.affine import IndexMap, identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    FromTensor,
    FusionBarrier,
    Graph,
    GraphBuilder,
    Init,
    IteratorType,
    Op,
    Pad,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.roles import roles
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body, is_exact_contraction
from layoutopt.ir.types import TensorType

_BYTE, _SUM = "i8", "i32"
_HALF = 128


def multiplies_bytes(op: Op, graph: Graph) -> bool:
    """Whether an op is a contraction of signed bytes that are added up in 32 bits.

    Without windows: each dim of an operand is a loop.
    """
    if not isinstance(op, Structured) or not op.is_contraction:
        return False
    if any(form.plain_dim is None for index_map in op.maps for form in index_map):
        return False
    elements = (*(graph.types[t].element for t in op.sources), graph.types[op.results[0]].element)
    return elements == (_BYTE, _BYTE, _SUM) and is_exact_contraction(op.body)


def with_unsigned_bytes(graph: Graph, weights: Collection[int]) -> Graph | Refusal:
    """The graph where contractions of signed bytes read one factor as unsigned and are data-tiled.

    ``weights``: inputs that are constants; their sums are taken ahead of time. Refused where there
    is no such contraction.
    """
    return unsigned_by(_DataTiled(graph), weights)


def unsigned_by(writer: UnsignedWriter, weights: Collection[int]) -> Graph | Refusal:
    """The graph where ``writer`` writes each contraction of signed bytes that it takes."""
    graph = writer.graph
    constants = _made_of(graph, weights)
    ops: list[Op] = []
    for op in graph.ops:
        if not isinstance(op, Structured) or not multiplies_bytes(op, graph):
            ops.append(op)
            continue
        before = len(writer.builder.ops)
        writer.write(op, unsigned=int(op.sources[0] in constants))
        ops += writer.builder.ops[before:]
    if not writer.builder.ops:
        return Refusal("expected a contraction of signed bytes summed in 32 bits, but got none")
    types = (*graph.types, *writer.builder.types)
    return replace(graph, types=types, ops=tuple(ops), names=())


class UnsignedWriter(ABC):
    """Writes contractions of signed bytes with one factor unsigned; how they run, others say."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.builder = GraphBuilder(len(graph.types))

    def write(self, op: Structured, unsigned: int) -> None:
        """Write a contraction with its factor at place ``unsigned`` as such."""
        sources = list(op.sources)
        sources[unsigned] = self.apart(self._flipped(sources[unsigned]))
        shape = tuple(op.domain[form.dims[0]] for form in op.result_maps[0])
        product = self.builder.tensor(shape, _SUM)
        body = contraction_body(_BYTE, _BYTE, _SUM)
        casts = (
            replace(o, name="arith.extui") if o.operands == (unsigned,) else o for o in body.ops
        )
        body = replace(body, ops=tuple(casts))
        self.multiply(replace(op, sources=tuple(sources), results=(product,), body=body))
        sums, read = self._sums(op, 1 - unsigned)
        self._correct(op, self.apart(product), sums, read)

    @abstractmethod
    def multiply(self, op: Structured) -> None:
        """Add the contraction, one factor of which is unsigned."""

    def apart(self, tensor: int) -> int:
        """What is between the contraction and what computes its factor, or reads its sums."""
        return tensor

    def _flipped(self, tensor: int) -> int:
        """A tensor of signed bytes with 128 added to each."""
        shape = self.type_of(tensor).shape
        made = self.builder.tensor(shape, _BYTE)
        steps = (
            ScalarOp("arith.constant", (), _BYTE, (("value", f"{-_HALF} : {_BYTE}"),)),
            ScalarOp("arith.addi", (0, 2), _BYTE),
        )
        self._elementwise((tensor,), (identity_map(len(shape)),), made, (_BYTE,), steps)
        return made

    def _sums(self, op: Structured, place: int) -> tuple[int, tuple[int, ...]]:
        """What a factor adds up to along the sum, and the loops that this is read by."""
        read = [d for form in op.source_maps[place] for d in form.dims]
        kept = tuple(d for d in read if d not in op.reduction_dims)
        loops = (*kept, *(d for d in read if d in op.reduction_dims))
        number = {d: i for i, d in enumerate(loops)}
        made = self.builder.tensor((op.domain[d] for d in kept), _SUM)
        steps = (ScalarOp("arith.extsi", (0,), _SUM), ScalarOp("arith.addi", (1, 2), _SUM))
        kinds = (IteratorType.PARALLEL,) * len(kept)
        place_map = tuple(f.renamed(number) for f in op.source_maps[place])
        self.builder.add(
            Structured(
                (op.sources[place],),
                (Fill(f"0 : {_SUM}"),),
                (made,),
                tuple(op.domain[d] for d in loops),
                (*kinds, *(IteratorType.REDUCTION,) * (len(loops) - len(kept))),
                (place_map, plain_map(range(len(kept)))),
                Body((_BYTE, _SUM), steps, (3,)),
            )
        )
        return made, kept

    def _correct(self, op: Structured, product: int, sums: int, read: Sequence[int]) -> None:
        """The product less 128 times the sums."""
        number = {form.dims[0]: i for i, form in enumerate(op.result_maps[0])}
        steps = (
            ScalarOp("arith.constant", (), _SUM, (("value", f"{_HALF} : {_SUM}"),)),
            ScalarOp("arith.muli", (1, 3), _SUM),
            ScalarOp("arith.subi", (0, 4), _SUM),
        )
        maps = (identity_map(len(number)), plain_map(number[d] for d in read))
        self._elementwise((product, sums), maps, op.results[0], (_SUM, _SUM), steps)

    def _elementwise(
        self,
        sources: tuple[int, ...],
        maps: tuple[IndexMap, ...],
        result: int,
        elements: tuple[str, ...],
        steps: tuple[ScalarOp, ...],
    ) -> None:
        """An op that yields the value of its last step."""
        kind = self.type_of(result)
        rank = len(kind.shape)
        self.builder.add(
            Structured(
                sources,
                (Uninitialized(),),
                (result,),
                kind.shape,
                (IteratorType.PARALLEL,) * rank,
                (*maps, identity_map(rank)),
                Body((*elements, kind.element), steps, (len(elements) + len(steps),)),
            )
        )

    def type_of(self, tensor: int) -> TensorType:
        """Of a tensor of the graph, or of one that was added."""
        first = len(self.graph.types)
        return self.graph.types[tensor] if tensor < first else self.builder.types[tensor - first]


class _DataTiled(UnsignedWriter):
    """As data tiling takes them."""

    def write(self, op: Structured, unsigned: int) -> None:
        """Two rows, or columns, for one."""
        wide = self._of_two(op)
        super().write(wide, unsigned)
        if wide is not op:
            rank = len(wide.result_maps[0])
            self.builder.add(Slice(wide.results[0], op.results[0], (0,) * rank, (1,) * rank))

    def multiply(self, op: Structured) -> None:
        """With the attribute that asks for data tiling."""
        self.builder.add(replace(op, data_tiled=True))

    def apart(self, tensor: int) -> int:
        """A fusion barrier."""
        kind = self.type_of(tensor)
        made = self.builder.tensor(kind.shape, kind.element)
        self.builder.add(FusionBarrier(tensor, made))
        return made

    def _of_two(self, op: Structured) -> Structured:
        """The contraction with two rows, or columns, for one: IREE 3.13 makes no tiles of one."""
        found = roles(op)
        single = [d for d in (*found.m, *found.n) if op.domain[d] == 1]
        if not single:
            return op
        domain = tuple(2 if d in single else n for d, n in enumerate(op.domain))
        sources = (
            self._padded(t, [form.dims[0] in single for form in m])
            for t, m in zip(op.sources, op.source_maps, strict=True)
        )
        loops = [form.dims[0] for form in op.result_maps[0]]
        init: Init = op.inits[0]
        if isinstance(init, FromTensor):
            init = FromTensor(self._padded(init.tensor, [d in single for d in loops]))
        made = self.builder.tensor((domain[d] for d in loops), _SUM)
        return replace(op, sources=tuple(sources), inits=(init,), results=(made,), domain=domain)

    def _padded(self, tensor: int, wider: Sequence[bool]) -> int:
        """A tensor with a zero more along some axes."""
        if not any(wider):
            return tensor
        kind = self.type_of(tensor)
        high = tuple(map(int, wider))
        made = self.builder.tensor(map(operator.add, kind.shape, high), kind.element)
        self.builder.add(Pad(tensor, made, (0,) * len(high), high, f"0 : {kind.element}"))
        return made


def _made_of(graph: Graph, weights: Collection[int]) -> frozenset[int]:
    """What depends on constants alone, where some inputs are constants."""
    found = {*graph.constants, *weights}
    for op in graph.ops:
        if op.inputs and found.issuperset(op.inputs):
            found.update(op.outputs)
    return frozenset(found)
