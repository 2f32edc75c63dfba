"""Orders of elements: what sorts and top-k compare by, as regions of MLIR say it.

    ^bb0(%a: f32, %b: f32): %less = arith.cmpf olt, %a, %b; yield %less

Both sides are the same function of an element, its key. JAX compares the bits of floats, so that
NaN has a place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from layoutopt.ir.body_text import body_lines
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.ir.types import Array

_FLIPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_PREDICATES: dict[str, dict[int, str]] = {
    "arith.cmpf": {
        2: "ogt",
        3: "oge",
        4: "olt",
        5: "ole",
        9: "ugt",
        10: "uge",
        11: "ult",
        12: "ule",
    },
    "arith.cmpi": {2: "slt", 3: "sle", 4: "sgt", 5: "sge", 6: "ult", 7: "ule", 8: "ugt", 9: "uge"},
}
"""Those that order, by their number in MLIR."""
_STRICT = {
    name: {number: word for number, word in words.items() if word[-1] == "t"}
    for name, words in _PREDICATES.items()
}
"""Those that put no element before itself."""
_EQUAL: dict[str, dict[int, str]] = {"arith.cmpf": {1: "oeq"}, "arith.cmpi": {0: "eq"}}


@dataclass(frozen=True, slots=True)
class Order:
    """The first of two elements comes first where its key and the other's fulfil the predicate."""

    key: Body
    compare: str
    predicate: str

    @property
    def is_descending(self) -> bool:
        """Whether the largest key comes first."""
        return "g" in self.predicate

    @property
    def is_strict(self) -> bool:
        """Whether no element comes before one that is equal."""
        return self.predicate[-1] == "t"

    def ranks(self, keys: Array) -> Array:
        """Numbers that rise in this order."""
        if keys.dtype.kind not in "iu":
            wide = keys.astype(np.float64)
            return -wide if self.is_descending else wide
        if self.compare == "arith.cmpi" and self.predicate.startswith("u"):
            keys = keys.view(f"u{keys.dtype.itemsize}")
        return ~keys if self.is_descending else keys

    @property
    def equality(self) -> str:
        """The predicate of two elements that this one puts in no order."""
        return "eq" if self.compare == "arith.cmpi" else "oeq"

    def lines(self, elements: Sequence[str], position: int) -> list[str]:
        """The region over pairs of elements of these types, compared by those at one position."""
        return order_lines(((self, position),), elements)


Keys = tuple[tuple[Order, int], ...]
"""Orders, and which of the pairs each looks at; one decides among those that are equal before."""


def order_lines(keys: Keys, elements: Sequence[str]) -> list[str]:
    """The region over pairs of elements of these types, compared by one key after another."""
    pairs = (f"%a{i}: {e}, %b{i}: {e}" for i, e in enumerate(elements))
    lines, found = [f"  ^bb0({', '.join(pairs)}):"], ""
    for number, (order, position) in reversed(list(enumerate(keys))):
        sides = []
        for side in "ab":
            own, names = body_lines(order.key, [f"%{side}{position}"], f"%{side}k{number}_")
            lines += own
            sides.append(names[order.key.yields[0]])
        both = f"{', '.join(sides)} : {order.key.type_of(order.key.yields[0])}"
        lines.append(f"    %first{number} = {order.compare} {order.predicate}, {both}")
        if not found:
            found = f"%first{number}"
            continue
        lines += [
            f"    %same{number} = {order.compare} {order.equality}, {both}",
            f"    %then{number} = arith.andi %same{number}, {found} : i1",
            f"    %either{number} = arith.ori %first{number}, %then{number} : i1",
        ]
        found = f"%either{number}"
    return [*lines, f"    iree_linalg_ext.yield {found} : i1"]


def plain_order(element: str, predicate: str) -> Order:
    """Elements compared as they are."""
    compare = "arith.cmpf" if predicate[0] in "o" else "arith.cmpi"
    return Order(Body((element,), (), (0,)), compare, predicate)


def total_order(element: str, bits: int) -> Order:
    """Floats by their bits, from the lowest, NaN last, as JAX sorts them."""
    kind = f"i{bits}"
    ops = (
        ScalarOp("arith.bitcast", (0,), kind),
        ScalarOp("arith.constant", (), kind, (("value", f"0 : {kind}"),)),
        ScalarOp("arith.cmpi", (1, 2), "i1", (("predicate", "2 : i64"),)),
        ScalarOp("arith.constant", (), kind, (("value", f"{(1 << (bits - 1)) - 1} : {kind}"),)),
        ScalarOp("arith.subi", (4, 1), kind, (("overflowFlags", "#arith.overflow<none>"),)),
        ScalarOp("arith.select", (3, 5, 1), kind),
    )
    return Order(Body((element,), ops, (6,)), "arith.cmpi", "slt")


def order_of(operation: Any) -> tuple[Order, int] | None:
    """The order that a region compares by, and which of the pairs it looks at.

    None where its two sides are not one function of one element.
    """
    keys = keys_of(operation)
    return keys[0] if keys is not None and len(keys) == 1 else None


def keys_of(operation: Any) -> Keys | None:
    """The orders that a region compares by, the second among those that the first leaves equal.

    None where a side of one of them is not the same function of one element as the other.
    """
    block = operation.regions[0].blocks[0]
    (yielded,) = list(block.operations)[-1].operands
    return _keys(yielded, block)


def _keys(value: Any, block: Any) -> Keys | None:
    """``less(a, b) or (a == b and ...)``."""
    made = getattr(value.owner, "operation", None)
    if made is None or made.name != "arith.ori":
        order = _compared(value, block, _PREDICATES)
        return None if order is None else (order,)
    for first, rest in (list(made.operands), list(made.operands)[::-1]):
        order, then = _compared(first, block, _STRICT), getattr(rest.owner, "operation", None)
        if order is None or then is None or then.name != "arith.andi":
            continue
        for same, others in (list(then.operands), list(then.operands)[::-1]):
            equal = _compared(same, block, _EQUAL)
            behind = _keys(others, block) if equal == _equality(order) else None
            if behind is not None:
                return (order, *behind)
    return None


def _equality(order: tuple[Order, int]) -> tuple[Order, int]:
    return replace(order[0], predicate=order[0].equality), order[1]


def _compared(
    value: Any, block: Any, predicates: Mapping[str, Mapping[int, str]]
) -> tuple[Order, int] | None:
    """A comparison of one function of two elements of a pair by one of these predicates."""
    made = getattr(value.owner, "operation", None)
    if made is None or made.name not in predicates:
        return None
    number = int(str(made.attributes["predicate"]).split()[0])
    predicate = predicates[made.name].get(number)
    sides = [side for value in made.operands if (side := _key(value, block)) is not None]
    if predicate is None or len(sides) < 2:
        return None
    (key, one), (other, two) = sides
    if key != other or one == two or one // 2 != two // 2:
        return None
    if one > two:
        predicate = predicate[0] + _FLIPPED.get(predicate[1:], predicate[1:])
    return Order(key, made.name, predicate), one // 2


def _key(value: Any, block: Any) -> tuple[Body, int] | None:
    """A value as a function of one argument, and which one that is; None for any other."""
    given = list(block.arguments)
    inside = {v for op in block.operations for v in op.operation.results}
    ops: list[ScalarOp] = []
    number: dict[Any, int] = {}
    read: dict[int, str] = {}

    def visit(one: Any) -> bool:
        if one in number:
            return True
        if one in given:
            read[given.index(one)] = str(one.type)
            number[one] = 0
            return True
        made = getattr(one.owner, "operation", None)
        constant = made is not None and made.name == "arith.constant"
        if made is None or not (constant or one in inside) or list(made.regions):
            return False
        if len(made.results) != 1 or not all(map(visit, made.operands)):
            return False
        attributes = sorted((name, str(made.attributes[name])) for name in made.attributes)
        operands = tuple(number[v] for v in made.operands)
        number[one] = 1 + len(ops)
        ops.append(ScalarOp(made.name, operands, str(one.type), tuple(attributes)))
        return True

    if not visit(value) or len(read) != 1:
        return None
    ((argument, kind),) = read.items()
    return Body((kind,), tuple(ops), (number[value],)), argument


def unsure(ranks: Array, error: Array | None, dim: int) -> Array:
    """Which of some sorted ranks may stand elsewhere in a right order.

    ``error``: how far each rank may be off; equal ones have no order where they are exact.
    """
    rows = np.moveaxis(ranks, dim, -1)
    above, below = rows[..., 1:], rows[..., :-1]
    if error is None:
        near = above == below
    else:
        most = np.moveaxis(np.asarray(error), dim, -1).max(-1, keepdims=True, initial=0.0)
        with np.errstate(all="ignore"):
            gaps = above.astype(np.float64) - below.astype(np.float64)
        near = (above == below) | ~(gaps > 2 * most)
    found = np.zeros(rows.shape, np.bool_)
    found[..., 1:] |= near
    found[..., :-1] |= near
    if rows.dtype.kind == "f":
        found |= np.isnan(rows).any(-1, keepdims=True)
    return np.moveaxis(found, -1, dim)


def is_monotone(array: Array, dim: int) -> bool:
    """Whether every row only rises, or every row only falls."""
    rows = np.moveaxis(array, dim, -1)
    above, below = rows[..., 1:], rows[..., :-1]
    return bool((above >= below).all() or (above <= below).all())
