"""Write rows of a table by number: the generic that exporters write for an embedding.

Gather(w, indices)
  ->
generic ins(indices) {
  i = index_cast in; c = linalg.index 2; e = tensor.extract w[i, c]; yield e }
"""

from __future__ import annotations

from layoutopt.ir.affine import map_text, plain_map
from layoutopt.ir.gather import Gather
from layoutopt.ir.size_values import empty_text
from layoutopt.ir.types import TensorType


def gather_lines(op: Gather, types: tuple[TensorType, ...]) -> list[str]:
    """Lines of MLIR for a gather of row-major tensors."""
    result, table, indices = types[op.result], types[op.table], types[op.indices]
    rank = len(result.shape)
    iterators = ", ".join(['"parallel"'] * rank)
    maps = [map_text(m, rank) for m in (plain_map(op.index_dims), plain_map(range(rank)))]
    lines = [
        f"  %t{op.result}_empty = {empty_text(result)}",
        f"  %t{op.result} = linalg.generic {{indexing_maps = [{', '.join(maps)}], "
        f"iterator_types = [{iterators}]}} "
        f"ins(%t{op.indices} : {indices}) outs(%t{op.result}_empty : {result}) {{",
        f"  ^bb0(%b0: {indices.element}, %b1: {result.element}):",
    ]
    places = []
    for d, place in enumerate(op.table_dims):
        if place is not None:
            lines.append(f"    %p{d} = linalg.index {place} : index")
        elif indices.element != "index":
            lines.append(f"    %p{d} = arith.index_cast %b0 : {indices.element} to index")
        places.append("%b0" if place is None and indices.element == "index" else f"%p{d}")
    return [
        *lines,
        f"    %e = tensor.extract %t{op.table}[{', '.join(places)}] : {table}",
        f"    linalg.yield %e : {result.element}",
        f"  }} -> {result}",
    ]
