"""``iree_linalg_ext.arg_compare``: the first of each row in an order, and its position.

arg_compare(x:L, start:L', start:L') -> y:L', i:L'

where L' is L without the dim, which has no tile
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from layoutopt.ir.extension import Evaluated, Occurrence
from layoutopt.ir.first_in_order import FirstInOrder
from layoutopt.ir.order import order_of, plain_order
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.region import known_errors
from layoutopt.ir.types import Array, TensorType


@dataclass(frozen=True, slots=True)
class ArgCompare(FirstInOrder):
    """``sources``: elements, and what the element and the position start from.

    An element takes the place of the one before where the order puts it first.
    """

    mlir_name = "iree_linalg_ext.arg_compare"

    @property
    def without_dim(self) -> tuple[int, ...]:
        """All but the elements."""
        return (*self.sources[1:], *self.results)

    @classmethod
    def read(cls, found: Occurrence) -> ArgCompare | Refusal:
        """The op; its positions have to count from zero, and its region to compare elements."""
        order = order_of(found.operation)
        if len(found.sources) != len(found.results) + 1:
            return Refusal("expected positions that count from zero, but they are given")
        if order is None or order[0].key.ops:
            return Refusal("expected a region that compares elements, but got another")
        made = cls(found.sources, found.results, found.dim, order[0])
        return found.without_array() or made

    @classmethod
    def examples(cls) -> tuple[tuple[ArgCompare, tuple[TensorType, ...]], ...]:
        """The largest along the last dim, the last of the smallest along an inner one, integers."""
        given = (
            ((5, 8), 1, plain_order("f32", "ogt"), "f32", "i32"),
            ((4, 6, 3), 1, plain_order("f32", "ole"), "f32", "i64"),
            ((7, 4), 0, plain_order("i32", "slt"), "i32", "i32"),
        )
        return tuple(
            (cls((0, 1, 2), (3, 4), dim, order), _types(TensorType(shape, element), dim, position))
            for shape, dim, order, element, position in given
        )

    def evaluate(self, values: Sequence[Array], types: Sequence[TensorType]) -> tuple[Array, ...]:
        """One element after another."""
        rows, element, place = np.moveaxis(values[0], self.dim, 0), values[1], values[2]
        for position, row in enumerate(rows):
            before = self._before(row, element)
            element = np.where(before, row, element)
            place = np.where(before, np.asarray(position, place.dtype), place)
        return element, place

    def error(self, made: Evaluated) -> tuple[Array | None, ...]:
        """No element is off by more than the worst of its row; close ones may change places."""
        if made.errors[0] is None and made.errors[1] is None:
            return None, None
        rows, start = np.moveaxis(made.values[0], self.dim, 0), made.values[1]
        bounds = zip(made.errors[:2], made.values[:2], strict=True)
        own, first = (known_errors(error, value.shape) for error, value in bounds)
        worst = np.maximum(np.moveaxis(own, self.dim, 0).max(axis=0, initial=0.0), first)
        everything = self.order.ranks(np.stack([start, *rows])).astype(np.float64)
        best = self.order.ranks(made.results[0]).astype(np.float64)
        with np.errstate(all="ignore"):
            close = (~(everything - best > 2 * worst)).sum(axis=0) > 1
        strange = np.isnan(everything).any(axis=0)
        return np.where(strange, np.inf, worst), np.where(close | strange, np.inf, 0.0)

    def _whole(self) -> int:
        return self.sources[0]

    def _before(self, one: Array, other: Array) -> Array:
        ranks, others = self.order.ranks(one), self.order.ranks(other)
        return ranks < others if self.order.is_strict else ranks <= others


def _types(whole: TensorType, dim: int, position: str) -> tuple[TensorType, ...]:
    shape = (*whole.shape[:dim], *whole.shape[dim + 1 :])
    row, places = TensorType(shape, whole.element), TensorType(shape, position)
    return whole, row, places, row, places
