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

from collections.abc import Collection
from dataclasses import replace

from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    FusionBarrier,
    Graph,
    GraphBuilder,
    IteratorType,
    Op,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body, is_exact_contraction

_BYTE, _SUM = "i8", "i32"
_HALF = 128


def multiplies_bytes(op: Op, graph: Graph) -> bool:
    """Whether an op is a contraction of signed bytes that are added up in 32 bits."""
    if not isinstance(op, Structured) or not op.is_contraction:
        return False
    elements = (*(graph.types[t].element for t in op.sources), graph.types[op.results[0]].element)
    return elements == (_BYTE, _BYTE, _SUM) and is_exact_contraction(op.body)


def with_unsigned_bytes(graph: Graph, weights: Collection[int]) -> Graph | Refusal:
    """The graph where contractions of signed bytes read one factor as unsigned and are data-tiled.

    ``weights``: inputs that are constants; their sums are taken ahead of time. Refused where there
    is no such contraction.
    """
    builder = GraphBuilder(len(graph.types))
    constants = _made_of(graph, weights)
    ops: list[Op] = []
    for op in graph.ops:
        if not isinstance(op, Structured) or not multiplies_bytes(op, graph):
            ops.append(op)
            continue
        before = len(builder.ops)
        _write(op, graph, builder, int(op.sources[0] in constants))
        ops += builder.ops[before:]
    if not builder.ops:
        return Refusal("expected a contraction of signed bytes summed in 32 bits, but got none")
    return replace(graph, types=(*graph.types, *builder.types), ops=tuple(ops), names=())


def _write(op: Structured, graph: Graph, builder: GraphBuilder, place: int) -> None:
    """Write a contraction with its factor at ``place`` unsigned."""
    signed = op.sources[1 - place]
    shape = graph.types[op.sources[place]].shape
    flipped = _flipped(op.sources[place], shape, builder)
    unsigned = _behind_barrier(flipped, shape, _BYTE, builder)
    sources = (unsigned, signed) if place == 0 else (signed, unsigned)
    kind = graph.types[op.results[0]]
    product = builder.tensor(kind.shape, _SUM)
    body = contraction_body(_BYTE, _BYTE, _SUM)
    ops = tuple(replace(o, name="arith.extui") if o.operands == (place,) else o for o in body.ops)
    builder.add(
        replace(
            op,
            sources=sources,
            results=(product,),
            body=replace(body, ops=ops),
            data_tiled=True,
        )
    )
    product = _behind_barrier(product, kind.shape, _SUM, builder)
    sums, read = _sums(op, 1 - place, builder)
    rank = len(kind.shape)
    loops = [form.dims[0] for form in op.result_maps[0]]
    number = {d: i for i, d in enumerate(loops)}
    steps = (
        ScalarOp("arith.constant", (), _SUM, (("value", f"{_HALF} : {_SUM}"),)),
        ScalarOp("arith.muli", (1, 3), _SUM),
        ScalarOp("arith.subi", (0, 4), _SUM),
    )
    builder.add(
        Structured(
            (product, sums),
            (Uninitialized(),),
            op.results,
            kind.shape,
            (IteratorType.PARALLEL,) * rank,
            (identity_map(rank), plain_map(number[d] for d in read), identity_map(rank)),
            Body((_SUM, _SUM, _SUM), steps, (5,)),
        )
    )


def _flipped(tensor: int, shape: tuple[int, ...], builder: GraphBuilder) -> int:
    """A tensor of signed bytes with 128 added to each."""
    made = builder.tensor(shape, _BYTE)
    rank = len(shape)
    steps = (
        ScalarOp("arith.constant", (), _BYTE, (("value", f"{-_HALF} : {_BYTE}"),)),
        ScalarOp("arith.addi", (0, 2), _BYTE),
    )
    builder.add(
        Structured(
            (tensor,),
            (Uninitialized(),),
            (made,),
            shape,
            (IteratorType.PARALLEL,) * rank,
            (identity_map(rank),) * 2,
            Body((_BYTE, _BYTE), steps, (3,)),
        )
    )
    return made


def _behind_barrier(
    tensor: int, shape: tuple[int, ...], element: str, builder: GraphBuilder
) -> int:
    made = builder.tensor(shape, element)
    builder.add(FusionBarrier(tensor, made))
    return made


def _sums(op: Structured, place: int, builder: GraphBuilder) -> tuple[int, tuple[int, ...]]:
    """What a factor adds up to along the sum, and the loops that this is read by."""
    read = [d for form in op.source_maps[place] for d in form.dims]
    kept = tuple(d for d in read if d not in op.reduction_dims)
    loops = (*kept, *(d for d in read if d in op.reduction_dims))
    number = {d: i for i, d in enumerate(loops)}
    made = builder.tensor((op.domain[d] for d in kept), _SUM)
    steps = (ScalarOp("arith.extsi", (0,), _SUM), ScalarOp("arith.addi", (1, 2), _SUM))
    kinds = (IteratorType.PARALLEL,) * len(kept)
    builder.add(
        Structured(
            (op.sources[place],),
            (Fill(f"0 : {_SUM}"),),
            (made,),
            tuple(op.domain[d] for d in loops),
            (*kinds, *(IteratorType.REDUCTION,) * (len(loops) - len(kept))),
            (tuple(f.renamed(number) for f in op.source_maps[place]), plain_map(range(len(kept)))),
            Body((_BYTE, _SUM), steps, (3,)),
        )
    )
    return made, kept


def _made_of(graph: Graph, weights: Collection[int]) -> frozenset[int]:
    """What depends on constants alone, where some inputs are constants."""
    found = {*graph.constants, *weights}
    for op in graph.ops:
        if op.inputs and found.issuperset(op.inputs):
            found.update(op.outputs)
    return frozenset(found)
