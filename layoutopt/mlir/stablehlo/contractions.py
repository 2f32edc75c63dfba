"""Contractions of open sizes, which IREE converts where they are plain matmuls only.

    dot_general %x, %w, contracting_dims = [2] x [0] : (?x32x64, 64x4x16) -> ?x32x4x16
      ->
    linalg.generic over (b, s, h, d, k): y[b, s, h, d] += x[b, s, k] * w[k, h, d]

Sums are of the result's type, as IREE has them for matmuls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from iree.compiler import ir

from layoutopt.mlir.read.sizes import Sizes
from layoutopt.mlir.stablehlo.building import (
    ahead,
    arith,
    constant,
    empty,
    generic,
    known_shape,
    made,
    replaced,
)
from layoutopt.mlir.stablehlo.numbers import Numbers
from layoutopt.mlir.stablehlo.shapes import lists


def contract(op: Any, sizes: Sizes, numbers: Numbers) -> None:
    """Write a contraction as its loops, where sizes are open and it is no plain matmul."""
    del numbers
    operands = list(op.operands)
    kinds = [v.type.element_type for v in (*operands, *op.results)]
    static = all(v.type.has_static_shape for v in operands)
    if static or _is_matmul(op) or not is_arithmetic(kinds):
        return
    shape = known_shape(sizes, op.results[0])
    left, right = _loops(op)
    with ahead(op):
        kind = kinds[2]
        made_into = empty(sizes, shape, op.results[0].type)
        zeros = generic([], shape, made_into, lambda _: constant(0, kind))
        value = generic(
            [(operands[0], left), (operands[1], right)],
            shape,
            zeros,
            lambda given: multiplied(given, kind),
        )
    replaced(sizes, op, value)


def _is_matmul(op: Any) -> bool:
    ranks = [v.type.rank for v in op.operands]
    return ranks == [2, 2] and _dims(op, "contracting") == ([1], [0])


def is_arithmetic(kinds: Sequence[Any]) -> bool:
    """Whether all are floats, or all signless integers, the result's not narrower than others."""
    if all(isinstance(k, ir.FloatType) for k in kinds):
        return all(k == kinds[2] or k.width < kinds[2].width for k in kinds)
    integers = all(isinstance(k, ir.IntegerType) and k.is_signless and k.width > 1 for k in kinds)
    return integers and all(k.width <= kinds[2].width for k in kinds)


def _loops(op: Any) -> tuple[list[int], list[int]]:
    """By dim of each operand its loop: batch, rows, columns, then what is summed over."""
    batch = _dims(op, "batching")
    summed = _dims(op, "contracting")
    free = [
        [d for d in range(v.type.rank) if d not in (*batch[side], *summed[side])]
        for side, v in enumerate(op.operands)
    ]
    rows = len(batch[0])
    columns = rows + len(free[0])
    behind = columns + len(free[1])
    found = []
    for side, first in enumerate((rows, columns)):
        loop = dict(zip(batch[side], range(rows), strict=True))
        loop |= {d: first + i for i, d in enumerate(free[side])}
        loop |= {d: behind + i for i, d in enumerate(summed[side])}
        found.append([loop[d] for d in sorted(loop)])
    return found[0], found[1]


def _dims(op: Any, kind: str) -> tuple[list[int], list[int]]:
    """Dims of both operands, in the order that pairs them."""
    given = lists(op.attributes["dot_dimension_numbers"])
    one, other = (given.get(f"{side}_{kind}_dimensions", []) for side in ("lhs", "rhs"))
    return one, other


def multiplied(given: Sequence[Any], kind: Any) -> Any:
    """A sum and the product of two elements, widened to the type of the sum."""
    floats = isinstance(kind, ir.FloatType)
    widen = "arith.extf" if floats else "arith.extsi"
    one, other = (v if v.type == kind else made(widen, [v], kind) for v in given[:2])
    product = arith("arith.mulf" if floats else "arith.muli", one, other)
    return arith("arith.addf" if floats else "arith.addi", given[2], product)
