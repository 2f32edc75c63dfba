"""Let ops start from a neutral element and read the constants they started from as inputs.

    reduction(x) starting from b     ->   reduction(x) starting from neutral, then combined with b
    elementwise(x) writing over b    ->   elementwise(x, b) writing over nothing

For b a constant or a broadcast (a bias): as an init it is captured read-write, copied, and read
back by every tile of the reduction (iree-org/iree issue 12233); as an input it is read once and a
broadcast is never spread out. Sound where one commutative op folds into the accumulator: add, mul,
max, min, and, or, xor; up to the order of additions. A start that holds one value everywhere is a
fill: a scalar that the dispatch spreads out itself.
"""

from __future__ import annotations

from dataclasses import replace

from layoutopt.ir.affine import identity_map, plain_dims
from layoutopt.ir.graph import (
    Fill,
    FromTensor,
    Graph,
    Init,
    IteratorType,
    Op,
    Structured,
    Uninitialized,
)
from layoutopt.ir.neutral import neutral
from layoutopt.ir.scalar import Body, ScalarOp, is_reassociable
from layoutopt.ir.types import TensorType, is_float
from layoutopt.rules.rewrites.interior_padding import splat_of, typed


def start_from_neutral(graph: Graph, reassociates: bool = True) -> Graph:
    """The same graph where no linalg op starts from a constant or a broadcast.

    ``reassociates``: floats may be added up in another order; else only integers are.
    """
    types = list(graph.types)
    ops: list[Op] = []
    names: list[str] = []
    for index, op in enumerate(graph.ops):
        name = graph.name_of(index)
        started = [op]
        if isinstance(op, Structured):
            filled = replace(op, inits=tuple(_filled(graph, init) for init in op.inits))
            started = [filled]
            if op.is_elementwise:
                started = _reading(graph, filled)
            elif reassociates or not any(is_float(graph.types[t].element) for t in op.results):
                started = _combined(graph, filled, types)
        ops += started
        names += [name, *(f"{name}.start" for _ in started[1:])]
    return replace(graph, types=tuple(types), ops=tuple(ops), names=tuple(names))


def _filled(graph: Graph, init: Init) -> Init:
    """A tensor of one value as a fill."""
    if not isinstance(init, FromTensor):
        return init
    value = splat_of(graph, init.tensor)
    return init if value is None else Fill(typed(value, graph.types[init.tensor].element))


def _constant_start(graph: Graph, init: Init) -> int | None:
    """The tensor that an op starts from, where it is a constant or a broadcast."""
    if not isinstance(init, FromTensor):
        return None
    if init.tensor in graph.constants:
        return init.tensor
    makers = [graph.ops[i] for i in graph.producers[init.tensor]]
    copies = [m for m in makers if isinstance(m, Structured) and m.is_copy]
    return init.tensor if copies else None


def _combined(graph: Graph, op: Structured, types: list[TensorType]) -> list[Op]:
    """A reduction from neutral elements, and the ops that combine its results with the starts."""
    starts = [_constant_start(graph, init) for init in op.inits]
    if not any(s is not None for s in starts) or not is_reassociable(op.body, len(op.results)):
        return [op]
    inits, results = list(op.inits), list(op.results)
    behind: list[Op] = []
    for position, start in enumerate(starts):
        folding = op.body.op_of(op.body.yields[position])
        kind = graph.types[op.results[position]]
        value = neutral(folding.name, kind.element) if folding is not None else None
        if start is None or folding is None or value is None:
            continue
        inits[position] = Fill(value)
        results[position] = len(types)
        types.append(kind)
        behind.append(_combine(folding.name, results[position], start, op.results[position], kind))
    return [replace(op, inits=tuple(inits), results=tuple(results)), *behind]


def _combine(name: str, first: int, second: int, result: int, kind: TensorType) -> Structured:
    rank = len(kind.shape)
    element = kind.element
    return Structured(
        (first, second),
        (Uninitialized(),),
        (result,),
        kind.shape,
        (IteratorType.PARALLEL,) * rank,
        (identity_map(rank),) * 3,
        Body((element,) * 3, (ScalarOp(name, (0, 1), element),), (3,)),
    )


def _reading(graph: Graph, op: Structured) -> list[Op]:
    """An elementwise op that reads what it started from as one more input.

    What is not written keeps the start, which then stays an init.
    """
    for position, init in enumerate(op.inits):
        start = _constant_start(graph, init)
        written = plain_dims(op.result_maps[position])
        if start is None or written is None or len(written) < len(op.domain):
            continue
        op = _with_input(op, position, start)
    return [op]


def _with_input(op: Structured, position: int, start: int) -> Structured:
    count = len(op.sources)
    was = count + position

    def moved(value: int) -> int:
        if value == was:
            return count
        return value if value < count else value + 1

    body = op.body
    arguments = (*body.arguments[:count], body.arguments[was], *body.arguments[count:])
    ops = tuple(replace(o, operands=tuple(map(moved, o.operands))) for o in body.ops)
    inits = (*op.inits[:position], Uninitialized(), *op.inits[position + 1 :])
    return replace(
        op,
        sources=(*op.sources, start),
        inits=inits,
        maps=(*op.maps[:count], op.result_maps[position], *op.maps[count:]),
        body=Body(arguments, ops, tuple(map(moved, body.yields))),
    )
