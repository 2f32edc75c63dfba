"""``iree_linalg_ext.sort``: rows in the order of a key, and others along with them.

sort(x:L, i:L) -> y:L, j:L        where the dim has no tile
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from layoutopt.ir.along_dim import AlongDim
from layoutopt.ir.extension import Evaluated, Occurrence
from layoutopt.ir.order import Order, is_monotone, order_of, plain_order, total_order, unsure
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import Body
from layoutopt.ir.types import Array, TensorType

_RISING = plain_order("f32", "olt")


@dataclass(frozen=True, slots=True)
class Sort(AlongDim):
    """Each source has a result: its elements in the order of one source, which is ``compared``.

    Elements that compare equal may come in any order.
    """

    order: Order = _RISING
    compared: int = 0

    mlir_name = "iree_linalg_ext.sort"

    @classmethod
    def read(cls, found: Occurrence) -> Sort | Refusal:
        """The op; its region has to compare one element with another by a key."""
        order = order_of(found.operation)
        if order is None or len(found.sources) != len(found.results):
            return Refusal("expected a region that compares one key, but got another")
        made = cls(found.sources, found.results, found.dim, *order)
        return found.without_array() or made

    @classmethod
    def examples(cls) -> tuple[tuple[Sort, tuple[TensorType, ...]], ...]:
        """Floats with their positions, from the largest; by their bits; integers."""
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
        )

    def emit(self, types: Sequence[TensorType]) -> list[str]:
        """The named op; the sources are what the results start from."""
        kinds = [types[t] for t in self.sources]
        listed = ", ".join(map(str, kinds))
        read = ", ".join(f"%t{t}" for t in self.sources)
        return [
            f"  {', '.join(f'%t{t}' for t in self.results)} = {self.mlir_name} "
            f"dimension({self.dim}) outs({read} : {listed}) {{",
            *self.order.lines([kind.element for kind in kinds], self.compared),
            f"  }} -> {listed}",
        ]

    def computed(self) -> tuple[tuple[Body, int], ...]:
        """The keys."""
        return ((self.order.key, self.sources[self.compared]),)

    def evaluate(self, values: Sequence[Array], types: Sequence[TensorType]) -> tuple[Array, ...]:
        """Equal ones in the order in which they came."""
        *sources, keys = values
        places = self._places(keys)
        return tuple(np.take_along_axis(source, places, self.dim) for source in sources)

    def error(self, made: Evaluated) -> tuple[Array | None, ...]:
        """In sorted rows no element is off by more than the worst; what comes along may be any."""
        places, own = self._places(made.values[-1]), made.results[self.compared]
        direct = not self.order.key.ops or is_monotone(own, self.dim)
        if direct:
            ranks = _rising(own, self.dim) if self.order.key.ops else self.order.ranks(own)
        else:
            ranks = np.take_along_axis(self.order.ranks(made.values[-1]), places, self.dim)
        off = made.errors[self.compared] if direct else made.errors[-1]
        shaky = unsure(ranks, _moved(off, places, self.dim), self.dim)
        found: list[Array | None] = []
        for position, error in enumerate(made.errors[:-1]):
            if position == self.compared and direct:
                found.append(None if error is None else _worst(error, self.dim, own.shape))
                continue
            moved = _moved(error, places, self.dim)
            known = np.zeros(own.shape) if moved is None else moved
            found.append(np.where(shaky, np.inf, known))
        return tuple(found)

    def _places(self, keys: Array) -> Array:
        return np.argsort(self.order.ranks(keys), axis=self.dim, kind="stable")


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
