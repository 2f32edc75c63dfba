"""Rows of a table by number: the generic that exporters write for an embedding.

generic ins(indices) {
  i = index_cast in; c = linalg.index 2; e = tensor.extract w[i, c]; yield e }
  ->
Gather(w, indices)
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from layoutopt.ir.affine import IndexMap, plain_dims, plain_map
from layoutopt.ir.gather import Gather
from layoutopt.mlir.read.state import State, new_tensor, tensor_of, type_of

_KNOWN = {"arith.index_cast", "linalg.index", "tensor.extract", "linalg.yield"}


def lift_gather(state: State, op: Any) -> bool:
    """Add the op as a Gather where it is one; whether it was."""
    if op.operation.name != "linalg.generic" or len(op.operation.operands) != 2:
        return False
    indices, out = op.operation.operands
    block = op.operation.regions[0].blocks[0]
    extracts = [o for o in block.operations if o.operation.name == "tensor.extract"]
    if {o.operation.name for o in block.operations} - _KNOWN or len(extracts) != 1:
        return False
    table = extracts[0].operation.operands[0]
    kinds = [type_of(state, v) for v in (indices, table, out)]
    if any(k is None for k in kinds) or not _yields(block, extracts[0]):
        return False
    index_dims, written = (_dims(ir.AffineMapAttr(a).value) for a in linalg.get_indexing_maps(op))
    places = [_place(v, block) for v in list(extracts[0].operation.operands)[1:]]
    if index_dims is None or written is None or list(written) != list(range(len(written))):
        return False
    looked_up = [d for d, place in enumerate(places) if place is None]
    if len(looked_up) != 1:
        return False
    if not _looks_up(extracts[0].operation.operands[1 + looked_up[0]], block):
        return False
    read = [p for p in places if p is not None]
    if len(set(read)) != len(read) or {*read, *index_dims} != set(written):
        return False
    result = op.operation.results[0]
    kind = kinds[2]
    assert kind is not None
    table_tensor, index_tensor = tensor_of(state, table), tensor_of(state, indices)
    made = new_tensor(state, result, kind)
    state.builder.add(Gather(table_tensor, index_tensor, made, index_dims, tuple(places)))
    return True


def _dims(index_map: Any) -> tuple[int, ...] | None:
    """The dims of a projected permutation."""
    if not all(isinstance(e, ir.AffineDimExpr) for e in index_map.results):
        return None
    found: IndexMap = plain_map(e.position for e in index_map.results)
    return plain_dims(found)


def _yields(block: Any, extract: Any) -> bool:
    closing = list(block.operations)[-1].operation
    return list(closing.operands) == [extract.operation.results[0]]


def _place(value: Any, block: Any) -> int | None:
    """The loop that an index is, None for one that is computed."""
    for op in block.operations:
        if op.operation.name == "linalg.index" and value == op.operation.results[0]:
            return int(ir.IntegerAttr(op.operation.attributes["dim"]).value)
    return None


def _looks_up(value: Any, block: Any) -> bool:
    """Whether an index is the element of ``indices``."""
    given = block.arguments[0]
    return value == given or any(
        op.operation.name == "arith.index_cast"
        and op.operation.results[0] == value
        and op.operation.operands[0] == given
        for op in block.operations
    )
