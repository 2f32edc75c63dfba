"""The numbers that small integer tensors of StableHLO hold: sizes, and what is computed of them.

    %0 = get_dimension_size %x, dim = 0; %1 = reshape %0; %2 = concatenate %1, dense<64>
      ->
    %2 holds the size of dim 0 of x, and 64

They are taken not to overflow, as the sizes of tensors do not.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from iree.compiler import ir

from layoutopt.ir.size import MOST, Undecided, symbol
from layoutopt.mlir.read.index_arithmetic import ARITHMETIC, compared
from layoutopt.mlir.read.sizes import Number, Sizes, built
from layoutopt.mlir.stablehlo.building import after, arith

MOST_ELEMENTS = 64
"""Of a tensor that may list sizes."""
_DIRECTIONS = ("EQ", "NE", "LT", "LE", "GT", "GE")
"""As ``arith.cmpi`` numbers them."""
_ARITH = {
    "stablehlo.add": "arith.addi",
    "stablehlo.subtract": "arith.subi",
    "stablehlo.multiply": "arith.muli",
    "stablehlo.divide": "arith.divsi",
    "stablehlo.remainder": "arith.remsi",
    "stablehlo.maximum": "arith.maxsi",
    "stablehlo.minimum": "arith.minsi",
}
Element = tuple[Any, int]
"""A tensor and a position in row-major order."""


class Numbers:
    """What is known of the elements of integer tensors, and of those that something asks for."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self._known: dict[Element, Number | None] = {}
        self._asked: dict[Element, int] = {}

    def all_of(self, value: Any) -> tuple[Number, ...] | None:
        """The elements of a tensor; None where one is not known."""
        count = _count(value)
        if count is None:
            return None
        found = [self.known(value, place) for place in range(count)]
        return None if None in found else tuple(n for n in found if n is not None)

    def known(self, value: Any, place: int) -> Number | None:
        """One element; None where it is not known."""
        key = (value, place)
        if key not in self._known:
            self._known[key] = self._read(value, place)
        found = self._known[key]
        return found if found is None or isinstance(found, bool) else self.sizes.resolved(found)

    def learn(self, value: Any, numbers: Sequence[Number]) -> None:
        """Take it that a tensor holds these."""
        for place, number in enumerate(numbers):
            self._known[value, place] = number

    def asked(self, value: Any, place: int) -> int:
        """One element of an integer tensor; a symbol where it is not known."""
        found = self.known(value, place)
        if found is not None:
            return whole(found)
        key = (value, place)
        if key not in self._asked:
            self._asked[key] = self._symbol(value, place)
        return self.sizes.resolved(self._asked[key])

    def direction(self, compare: Any) -> int:
        """Which comparison an op makes, as ``arith.cmpi`` numbers them."""
        text = str(compare.attributes["comparison_direction"])
        return next(i for i, name in enumerate(_DIRECTIONS) if f" {name}>" in text)

    def _read(self, value: Any, place: int) -> Number | None:
        op = _maker(value)
        if op is None or _count(value) is None:
            return None
        if op.name == "stablehlo.constant":
            return _constant(op, place)
        if op.name == "stablehlo.get_dimension_size":
            shape = self.sizes.shape_of(op.operands[0])
            dim = ir.IntegerAttr(op.attributes["dimension"]).value
            return None if shape is None else shape[dim]
        source = _source(op, place)
        if source is not None:
            return self.known(*source)
        try:
            return self._computed(op, [self.known(*e) for e in _operands(op, place)])
        except Undecided:
            return None

    def _computed(self, op: Any, numbers: Sequence[Number | None]) -> Number | None:
        if op.name in ("stablehlo.and", "stablehlo.or"):
            return _joined(numbers, op.name == "stablehlo.or")
        if op.name == "stablehlo.select":
            condition, *ways = numbers
            return None if condition is None else ways[0 if condition else 1]
        if not numbers or any(n is None for n in numbers):
            return None
        known = [n for n in numbers if n is not None]
        if op.name == "stablehlo.compare":
            kind = str(op.attributes.get("compare_type", ""))
            if "UNSIGNED" in kind and not _conditions(known):
                return None
            return compared(self.direction(op), known)
        return _COMPUTED[op.name](*known) if op.name in _COMPUTED else None

    def _symbol(self, value: Any, place: int) -> int:
        """An element as a symbol, or as what symbols make, with the ops that compute it."""
        op = _maker(value)
        source = None if op is None else _source(op, place)
        if source is not None:
            return self.asked(*source)
        if op is not None and (op.name in _ARITH or op.name == "stablehlo.clamp"):
            numbers = [self.asked(*e) for e in _operands(op, place)]
            try:
                return int(_COMPUTED[op.name](*numbers))
            except Undecided:
                with after(value):
                    given = [built(self.sizes, n) for n in numbers]
                    return self.named(_index_of(op.name, given))
        with after(value):
            index = ir.IndexType.get()
            kind = value.type
            places = _places(tuple(kind.shape), place)
            at = [built(self.sizes, n) for n in places]
            one = _made("tensor.extract", [value, *at], kind.element_type)
            return self.named(_made("arith.index_cast", [one], index))

    def named(self, value: Any) -> int:
        """A symbol whose value an index value is."""

        def make(name: str) -> int:
            return symbol(name, -MOST, MOST)

        return self.sizes.name(f"n{len(self.sizes.values)}", make, value, 0)


def whole(number: Number) -> int:
    """A number; of a condition 1 or 0."""
    return int(number) if isinstance(number, bool) else number


def _index_of(name: str, given: Sequence[Any]) -> Any:
    if name != "stablehlo.clamp":
        return arith(_ARITH[name], *given)
    low, value, high = given
    return arith("arith.minsi", arith("arith.maxsi", value, low), high)


def _clamped(low: int, value: int, high: int) -> int:
    return ARITHMETIC["arith.minsi"](ARITHMETIC["arith.maxsi"](value, low), high)


def _sign(number: int) -> int:
    if number > 0:
        return 1
    return -1 if number < 0 else 0


_COMPUTED: dict[str, Callable[..., Number]] = {
    **{name: ARITHMETIC[arith_name] for name, arith_name in _ARITH.items()},
    "stablehlo.clamp": _clamped,
    "stablehlo.sign": _sign,
    "stablehlo.negate": lambda a: -a,
    "stablehlo.not": lambda a: not a,
}


def _joined(numbers: Sequence[Number | None], deciding: bool) -> bool | None:
    """A disjunction where true decides it, a conjunction where false does."""
    if any(n is deciding for n in numbers):
        return deciding
    return (not deciding) if _conditions(numbers) else None


def _conditions(numbers: Sequence[Number | None]) -> bool:
    return all(isinstance(n, bool) for n in numbers)


def _maker(value: Any) -> Any | None:
    """The op that makes a value; None for an argument of a block."""
    return None if isinstance(value.owner, ir.Block) else value.owner


def _count(value: Any) -> int | None:
    """The number of elements of a small tensor of integers or conditions."""
    kind = value.type
    if not isinstance(kind, ir.RankedTensorType) or not kind.has_static_shape:
        return None
    count = math.prod(kind.shape)
    integers = isinstance(kind.element_type, ir.IntegerType) and kind.element_type.is_signless
    return count if integers and count <= MOST_ELEMENTS else None


def _constant(op: Any, place: int) -> Number:
    elements = ir.DenseElementsAttr(op.attributes["value"])
    kind = op.results[0].type.element_type
    values = ir.DenseIntElementsAttr(elements)
    number = int(values[0 if elements.is_splat else place])
    return bool(number) if str(kind) == "i1" else number


def _operands(op: Any, place: int) -> list[Element]:
    """What an elementwise op reads for one of its elements; nothing of other tensors."""
    if any(_count(v) is None for v in op.operands):
        return []
    return [(v, place if v.type.rank else 0) for v in op.operands]


def _source(op: Any, place: int) -> Element | None:
    """Where an element comes from unchanged."""
    result = op.results[0]
    if op.name == "stablehlo.reshape":
        return op.operands[0], place
    if op.name == "stablehlo.convert":
        kinds = [str(v.type.element_type) for v in (op.operands[0], result)]
        return (op.operands[0], place) if {*kinds} <= {"i32", "i64"} else None
    if op.name == "stablehlo.broadcast_in_dim":
        return op.operands[0], _before_broadcast(op, place)
    if op.name == "stablehlo.concatenate" and not ir.IntegerAttr(op.attributes["dimension"]).value:
        for operand in op.operands:
            count = math.prod(operand.type.shape)
            if place < count:
                return operand, place
            place -= count
    if op.name == "stablehlo.slice" and result.type.rank == 1:
        first, step = (
            ir.DenseI64ArrayAttr(op.attributes[name])[0] for name in ("start_indices", "strides")
        )
        return op.operands[0], first + place * step
    return None


def _before_broadcast(op: Any, place: int) -> int:
    source = tuple(op.operands[0].type.shape)
    at = _places(tuple(op.results[0].type.shape), place)
    dims = ir.DenseI64ArrayAttr(op.attributes["broadcast_dimensions"])
    found = 0
    for size, dim in zip(source, dims, strict=True):
        found = found * size + (at[dim] if size != 1 else 0)
    return found


def _places(shape: Sequence[int], place: int) -> tuple[int, ...]:
    """A position in row-major order as one for each dim."""
    found: list[int] = []
    for size in reversed(shape):
        place, rest = divmod(place, size)
        found.insert(0, rest)
    return tuple(found)


def _made(name: str, operands: list[Any], kind: Any) -> Any:
    return ir.Operation.create(name, results=[kind], operands=operands).results[0]
