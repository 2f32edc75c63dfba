"""Put ahead of a loop what its block computes of constants alone.

IREE computes it when the module is compiled, from any place. A copy for each step that a trip runs
would say the same again: a small LSTM that was unrolled had 97 transposes of its weights.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from layoutopt.mlir.read.nested import nested_ops

_EMPTY = "tensor.empty"
_LOAD = "util.global.load"
_PURE = ("linalg.", "tensor.")


def move_constants_ahead(loop: Any) -> None:
    """Move these ops in front of a loop of one block. What they start from is copied there."""
    block = loop.regions[0].blocks[0]
    starts = [op.operation for op in block.operations if _is_start(op.operation)]
    constant: dict[Any, bool] = {}
    for op in list(block.operations):
        operation = op.operation
        if operation in starts or not _is_of_constants(operation, constant):
            continue
        for position, value in enumerate(operation.operands):
            if _maker(value) in starts:
                copy = _maker(value).clone(ip=ir.InsertionPoint(loop))
                operation.operands[position] = copy.operation.results[0]
        operation.move_before(loop)
    for start in starts:
        if not any(True for _ in start.results[0].uses):
            start.erase()


def _is_start(operation: Any) -> bool:
    """Whether it holds what no other op made: it stays, for what reads it is fused with it."""
    kept = operation.name == _LOAD and "is_immutable" in operation.attributes
    return kept or (operation.name in ("arith.constant", _EMPTY) and not operation.operands)


def _is_of_constants(operation: Any, known: dict[Any, bool]) -> bool:
    """Whether an op computes tensors, and of constants alone; a fill is no such op."""
    if not operation.name.startswith(_PURE) or operation.name == "linalg.fill":
        return False
    inside = [*nested_ops(operation)]
    made = {v for one in inside for v in one.results}
    made |= {v for one in inside for r in one.regions for b in r.blocks for v in b.arguments}
    read = {v for one in inside for v in one.operands} - made
    holds = any(maker is not None and maker.name != _EMPTY for maker in map(_maker, read))
    own = list(operation.operands)
    return holds and all(value in own and _is_constant(value, known) for value in read)


def _is_constant(value: Any, known: dict[Any, bool]) -> bool:
    if value not in known:
        maker = _maker(value)
        known[value] = maker is not None and (_is_start(maker) or _is_of_constants(maker, known))
    return known[value]


def _maker(value: Any) -> Any:
    """The op that computes a value; None of an argument."""
    return None if isinstance(value.owner, ir.Block) else value.owner.operation
