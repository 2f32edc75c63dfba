"""``iree_linalg_ext.sort``: rows in the order of a key, and others along with them.

sort(x:L, i:L) -> y:L, j:L        where the dim has no tile
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from layoutopt.ir.along_dim import AlongDim
from layoutopt.ir.extension import Evaluated, Occurrence
from layoutopt.ir.order import (
    Keys,
    Order,
    is_monotone,
    keys_of,
    order_lines,
    plain_order,
    total_order,
    unsure,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body
from layoutopt.ir.types import Array, TensorType

_RISING = plain_order("f32", "olt")


@dataclass(frozen=True, slots=True)
class Sort(AlongDim):
    """Each source has a result: its elements in the order of one source, which is ``compared``.

    ``behind``: orders among the elements that are equal in it. Those that compare equal in all may
    come in any order.
    """

    order: Order = _RISING
    compared: int = 0
    behind: Keys = ()

    mlir_name = "iree_linalg_ext.sort"

    @classmethod
    def read(cls, found: Occurrence) -> Sort | Refusal:
        """The op; its region has to compare elements by a key, or by one key after another."""
        keys = keys_of(found.operation)
        if keys is None or len(found.sources) != len(found.results):
            return Refusal("expected a region that compares one key after another, but got another")
        made = cls(found.sources, found.results, found.dim, *keys[0], keys[1:])
        return found.without_array() or made

    @classmethod
    def examples(cls) -> tuple[tuple[Sort, tuple[TensorType, ...]], ...]:
        """Floats with their positions, from the largest; by their bits; integers; by two keys."""
        floats = TensorType((3, 7), "f32")
        inner = TensorType((4, 6, 5), "f32")
        whole = TensorType((5, 4), "i64")
        return (
            (
                cls((0, 1), (2, 3), 1, plain_order("f32", "ogt")),
                (floats, TensorType((3, 7), "i64")) * 2,
            ),
            (cls((0,), (1,), 1, total_order("f32", 32)), (inner, inner)),
            (cls((0,), (1,), 0, plain_order("i64", "ult")), (whole, whole)),
            (
                cls(
                    (0, 1, 2),
                    (3, 4, 5),
                    1,
                    plain_order("i8", "sgt"),
                    1,
                    ((total_order("f32", 32), 0),),
                ),
                (floats, TensorType((3, 7), "i8"), TensorType((3, 7), "i32")) * 2,
            ),
        )

    def emit(self, types: Sequence[TensorType]) -> list[str]:
        """The named op; the sources are what the results start from."""
        kinds = [types[t] for t in self.sources]
        listed = ", ".join(map(str, kinds))
        read = ", ".join(f"%t{t}" for t in self.sources)
        return [
            f"  {', '.join(f'%t{t}' for t in self.results)} = {self.mlir_name} "
            f"dimension({self.dim}) outs({read} : {listed}) {{",
            *order_lines(self._keys, [kind.element for kind in kinds]),
            f"  }} -> {listed}",
        ]

    def computed(self) -> tuple[tuple[Body, int], ...]:
        """The keys."""
        return tuple((order.key, self.sources[place]) for order, place in self._keys)

    def evaluate(self, values: Sequence[Array], types: Sequence[TensorType]) -> tuple[Array, ...]:
        """Equal ones in the order in which they came."""
        places = self._places(values)
        sources = values[: len(self.sources)]
        return tuple(np.take_along_axis(source, places, self.dim) for source in sources)

    def error(self, made: Evaluated) -> tuple[Array | None, ...]:
        """In sorted rows no element is off by more than the worst; what comes along may be any."""
        places, own = self._places(made.values), made.results[self.compared]
        direct = not self.behind and (not self.order.key.ops or is_monotone(own, self.dim))
        shaky = self._unsure_in_several(made, places) if self.behind else None
        if shaky is None:
            shaky = self._unsure(made, places, direct=direct)
        found: list[Array | None] = []
        for position, error in enumerate(made.errors[: len(self.sources)]):
            if position == self.compared and direct:
                found.append(None if error is None else _worst(error, self.dim, own.shape))
                continue
            moved = _moved(error, places, self.dim)
            known = np.zeros(own.shape) if moved is None else moved
            found.append(np.where(shaky, np.inf, known))
        return tuple(found)

    def _unsure(self, made: Evaluated, places: Array, *, direct: bool) -> Array:
        """Where elements of other rows may stand, compared by one key."""
        own, keys = made.results[self.compared], made.values[-1]
        if direct:
            ranks = _rising(own, self.dim) if self.order.key.ops else self.order.ranks(own)
        else:
            ranks = np.take_along_axis(self.order.ranks(keys), places, self.dim)
        off = made.errors[self.compared] if direct else made.errors[-1]
        return unsure(ranks, _moved(off, places, self.dim), self.dim)

    def _unsure_in_several(self, made: Evaluated, places: Array) -> Array:
        """The same by several keys: those that are equal in all, or any where one is not exact."""
        count = len(self.sources)
        shaky = np.ones(places.shape, np.bool_)
        for (order, _), keys, off in zip(
            self._keys, made.values[count:], made.errors[count:], strict=True
        ):
            if off is not None and np.asarray(off).any():
                return np.ones(places.shape, np.bool_)
            ranks = np.take_along_axis(order.ranks(keys), places, self.dim)
            if ranks.dtype.kind == "f" and np.isnan(ranks).any():
                return np.ones(places.shape, np.bool_)
            shaky &= _next_to_equal(ranks, self.dim)
        return shaky

    @property
    def _keys(self) -> Keys:
        return ((self.order, self.compared), *self.behind)

    def _places(self, values: Sequence[Array]) -> Array:
        pairs = zip(self._keys, values[len(self.sources) :], strict=True)
        ranks = [order.ranks(keys) for (order, _), keys in pairs]
        return np.lexsort(ranks[::-1], axis=self.dim)


def _next_to_equal(ranks: Array, dim: int) -> Array:
    rows = np.moveaxis(ranks, dim, -1)
    found = np.zeros(rows.shape, np.bool_)
    same = rows[..., 1:] == rows[..., :-1]
    found[..., 1:] |= same
    found[..., :-1] |= same
    return np.moveaxis(found, -1, dim)


def _rising(array: Array, dim: int) -> Array:
    rows = np.moveaxis(array, dim, -1)
    falls = (rows[..., 1:] < rows[..., :-1]).any()
    return np.flip(array, dim) if falls else array


def _moved(error: Array | None, places: Array, dim: int) -> Array | None:
    if error is None:
        return None
    return np.take_along_axis(np.broadcast_to(error, places.shape), places, dim)


def _worst(error: Array, dim: int, shape: tuple[int, ...]) -> Array:
    most = np.broadcast_to(error, shape).max(axis=dim, keepdims=True)
    return np.broadcast_to(most, shape)
