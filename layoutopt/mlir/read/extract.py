"""Reads by computed index: ``tensor.extract`` in a body, where the index is linear in the loops.

    generic { i = linalg.index 2; e = tensor.extract w[.., 2 - i, ..]; yield e }
      ->
    generic ins(w) with the indexing map (.., -d2 + 2, ..)

Filter flips are written this way, because linalg takes no maps that run backwards. An index that is
``d // n`` is a dim of its own: resizing by a whole factor repeats elements.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from iree.compiler import ir

from layoutopt.ir.affine import Affine, IndexMap, affine
from layoutopt.mlir.read.computed_index import ComputedIndex, linear_form, repeat_of
from layoutopt.mlir.read.state import NotUnderstood, PlaceNotLinear

_SIGNS = {"arith.addi": 1, "arith.subi": -1}


@dataclass(frozen=True, slots=True)
class Extracts:
    """What a body extracts: for each element the tensor and the map it reads by.

    ``repeats``: for each loop that some map reads as ``d // n``, that n and the dim that the
    quotient is. Such dims come behind the loops of the op.
    """

    reads: dict[Any, tuple[Any, IndexMap]]
    repeats: dict[int, tuple[int, int]]


def extracted(
    block: Any,
    scalars: Mapping[Any, tuple[str, str]],
    computed: Mapping[Any, ComputedIndex],
    rank: int,
) -> Extracts:
    """Each ``tensor.extract`` of a body, by its result.

    ``computed``: values that depend on one loop at most. Raises NotUnderstood where an index is
    neither linear nor a quotient.
    """
    forms: dict[Any, Affine] = {}
    found = Extracts({}, {})
    for op in block.operations:
        name = op.operation.name
        operands = list(op.operation.operands)
        if name == "tensor.extract":
            indices = tuple(_index(v, forms, scalars, computed, found, rank) for v in operands[1:])
            found.reads[op.operation.results[0]] = (operands[0], indices)
        elif name == "linalg.index":
            loop = ir.IntegerAttr(op.operation.attributes["dim"]).value
            forms[op.operation.results[0]] = affine([(loop, 1)])
        elif name == "arith.constant" and str(op.operation.results[0].type) == "index":
            value = ir.IntegerAttr(op.operation.attributes["value"]).value
            forms[op.operation.results[0]] = affine([], value)
        elif name in _SIGNS and str(op.operation.results[0].type) == "index":
            try:
                lhs, rhs = (_form(v, forms, scalars) for v in operands)
            except NotUnderstood:
                continue
            sign = _SIGNS[name]
            terms = (*lhs.terms, *((d, sign * c) for d, c in rhs.terms))
            forms[op.operation.results[0]] = affine(terms, lhs.offset + sign * rhs.offset)
    return found


def _index(
    value: Any,
    forms: Mapping[Any, Affine],
    scalars: Mapping[Any, tuple[str, str]],
    computed: Mapping[Any, ComputedIndex],
    found: Extracts,
    rank: int,
) -> Affine:
    known = computed.get(value)
    if value in forms or known is None:
        return _form(value, forms, scalars)
    linear = linear_form(known)
    if linear is not None:
        return linear
    repeat = repeat_of(known)
    if repeat is None or known.loop is None:
        return _form(value, forms, scalars)
    number, dim = found.repeats.setdefault(known.loop, (repeat, rank + len(found.repeats)))
    if number != repeat:
        raise PlaceNotLinear(
            f"expected one factor of loop {known.loop}, but got {number} and {repeat}"
        )
    return affine([(dim, 1)])


def checked(index_map: IndexMap, shape: Sequence[int], domain: Sequence[int]) -> IndexMap:
    """The map as linalg takes it. Raises NotUnderstood where a read would leave the tensor.

    Linalg takes the size of a loop from a dim that it reads plainly, so none may be longer.
    """
    found: list[Affine] = []
    for axis, (form, n) in enumerate(zip(index_map, shape, strict=True)):
        ends = [c * (domain[d] - 1) for d, c in form.terms]
        low = form.offset + sum(min(0, e) for e in ends)
        high = form.offset + sum(max(0, e) for e in ends)
        if low < 0 or high >= n:
            raise NotUnderstood(
                f"expected reads inside the tensor, but dim {axis} reads {low} to {high}"
            )
        d = form.plain_dim
        if d is not None and domain[d] not in (1, n):
            raise PlaceNotLinear(
                f"expected a read of all of dim {axis}, but got {domain[d]} of {n}"
            )
        found.append(form if d is None or domain[d] == n else affine([]))
    return tuple(found)


def _form(
    value: Any, forms: Mapping[Any, Affine], scalars: Mapping[Any, tuple[str, str]]
) -> Affine:
    if value in forms:
        return forms[value]
    text = scalars.get(value)
    if text is not None and text[1] == "index":
        return affine([], int(text[0].split(":")[0]))
    raise PlaceNotLinear(
        "expected an index that is linear in the loops, but it is computed otherwise"
    )
