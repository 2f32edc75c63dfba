"""What a function computes by the NumPy oracle, on given arguments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import iree.compiler.ir as ir

from layoutopt.ir.graph import Constant, Opaque
from layoutopt.ir.types import Array
from layoutopt.mlir.read.lift import lift
from layoutopt.oracle import OracleError, evaluate
from tests.fuzz.program import Written


def oracle_results(written: Written, arguments: Sequence[Array]) -> list[Array | None] | None:
    """Its results, None for one of an op that is not known; None for all where others need that."""
    context = ir.Context()
    with context:
        module = ir.Module.parse(written.text)
        lifted = lift(list(module.body.operations)[-1], {})
    assert lifted is not None
    own, given = lifted.graph, list(lifted.block.arguments)
    constants = iter([c for c in written.constants if c.size])  # empty ones are not lifted
    values: dict[int, Array] = {}
    for tensor in own.inputs:
        if lifted.values[tensor] not in given:
            return None
        values[tensor] = arguments[given.index(lifted.values[tensor])]
    for op in own.ops:
        if isinstance(op, Constant):
            if lifted.values[op.result].owner.name != "arith.constant":
                return None
            values[op.result] = next(constants)
    ops = tuple(op for op in own.ops if not isinstance(op, Constant | Opaque))
    try:
        found = evaluate(replace(own, ops=ops), values)
    except OracleError:
        return None
    tensors = {value: tensor for tensor, value in lifted.values.items()}
    known = {**values, **found}
    return [
        arguments[given.index(v)] if v in given else known.get(tensors[v]) if v in tensors else None
        for v in lifted.kept[-1].operation.operands
    ]
