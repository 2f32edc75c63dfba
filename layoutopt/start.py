"""Let contractions start from zero and add what they started from afterwards.

    contraction(x, w) starting from b   ->   contraction(x, w) starting from 0, then + b

For b a constant or a broadcast (a bias): as an init it is copied and read back by every tile of
the reduction (iree-org/iree issue 12233); as an input of the elementwise op behind, it is read once
and a broadcast is never spread out. Sound up to the order of additions.
"""

from __future__ import annotations

from dataclasses import replace

from layoutopt.affine import identity_map
from layoutopt.graph import (
    Fill,
    FromTensor,
    Graph,
    IteratorType,
    Op,
    Structured,
    Uninitialized,
)
from layoutopt.scalar import Body, ScalarOp
from layoutopt.types import TensorType, is_float


def start_from_zero(graph: Graph) -> Graph:
    """The same graph where no contraction starts from a constant or a broadcast."""
    types = list(graph.types)
    ops: list[Op] = []
    names: list[str] = []
    for index, op in enumerate(graph.ops):
        start = _start(graph, op)
        if start is None or not isinstance(op, Structured):
            ops.append(op)
            names.append(graph.name_of(index))
            continue
        kind = graph.types[op.results[0]]
        product = len(types)
        types.append(kind)
        zero = "0.0" if is_float(kind.element) else "0"
        init = Fill(f"{zero} : {kind.element}")
        ops.append(replace(op, inits=(init,), results=(product,)))
        ops.append(_sum(product, start, op.results[0], kind))
        names += [graph.name_of(index), f"{graph.name_of(index)}.start"]
    return Graph(tuple(types), tuple(ops), graph.inputs, graph.outputs, tuple(names))


def _start(graph: Graph, op: Op) -> int | None:
    """The tensor that a contraction starts from, where it is a constant or a broadcast."""
    if not isinstance(op, Structured) or not op.is_contraction:
        return None
    init = op.inits[0]
    if not isinstance(init, FromTensor):
        return None
    if init.tensor in graph.constants:
        return init.tensor
    makers = [graph.ops[i] for i in graph.producers[init.tensor]]
    copies = [m for m in makers if isinstance(m, Structured) and m.is_copy]
    return init.tensor if copies else None


def _sum(first: int, second: int, result: int, kind: TensorType) -> Structured:
    rank = len(kind.shape)
    element = kind.element
    name = "arith.addf" if is_float(element) else "arith.addi"
    return Structured(
        (first, second),
        (Uninitialized(),),
        (result,),
        kind.shape,
        (IteratorType.PARALLEL,) * rank,
        (identity_map(rank),) * 3,
        Body((element,) * 3, (ScalarOp(name, (0, 1), element),), (3,)),
    )
