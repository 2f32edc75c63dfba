"""``iree_linalg_ext.topk``: the first k of each row in an order, and their positions.

topk(x:L, starts:L, starts:L) -> y:L, i:L        where the dim has no tile
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from layoutopt.ir.extension import Evaluated, Occurrence
from layoutopt.ir.first_in_order import FirstInOrder
from layoutopt.ir.order import Order, order_of, plain_order, unsure
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.region import known_errors
from layoutopt.ir.types import Array, TensorType


@dataclass(frozen=True, slots=True)
class TopK(FirstInOrder):
    """``sources``: elements, their positions where given, and what both results start from.

    What they start from takes part. Of equal elements the one of the lower position comes first.
    """

    mlir_name = "iree_linalg_ext.topk"

    @classmethod
    def read(cls, found: Occurrence) -> TopK | Refusal:
        """The op; its region has to compare elements as they are."""
        order = order_of(found.operation)
        if order is None or order[0].key.ops:
            return Refusal("expected a region that compares elements, but got another")
        made = cls(found.sources, found.results, found.dim, order[0])
        return found.without_array() or made

    @classmethod
    def examples(cls) -> tuple[tuple[TopK, tuple[TensorType, ...]], ...]:
        """Along the last dim and an inner one, positions given, and the lowest integers."""
        return (
            _example((3, 9), 1, 4, plain_order("f32", "ogt"), "f32", given=False),
            _example((2, 8, 5), 1, 3, plain_order("f32", "ogt"), "f32", given=True),
            _example((7, 4), 0, 2, plain_order("i32", "slt"), "i32", given=False),
        )

    def evaluate(self, values: Sequence[Array], types: Sequence[TensorType]) -> tuple[Array, ...]:
        """The first of the elements and the starts together, where the starts are in order."""
        everything, positions = self._candidates(values)
        count = values[-1].shape[self.dim]
        ranks = self.order.ranks(everything)
        if not self._begins_in_order(values):
            return self._inserted(everything, positions, count)
        first = np.lexsort((positions, ranks), axis=self.dim).take(range(count), self.dim)
        return tuple(np.take_along_axis(a, first, self.dim) for a in (everything, positions))

    def error(self, made: Evaluated) -> tuple[Array | None, ...]:
        """No element is off by more than the worst of its row; close ones may change places."""
        everything, _ = self._candidates(made.values)
        ranks = np.sort(self.order.ranks(everything), axis=self.dim)
        exact = made.errors[0] is None and made.errors[-2] is None
        if exact and not _has_nan(ranks):
            return None, None
        bounds = [known_errors(made.errors[i], made.values[i].shape) for i in (0, -2)]
        worst = np.concatenate(bounds, self.dim).max(axis=self.dim, keepdims=True)
        shaky = unsure(ranks, np.broadcast_to(worst, ranks.shape), self.dim)
        shaky = shaky.take(range(made.results[0].shape[self.dim]), self.dim)
        strange = np.isnan(ranks.astype(np.float64)).any(axis=self.dim, keepdims=True)
        strange |= not self._begins_in_order(made.values)
        off = np.where(strange, np.inf, np.broadcast_to(worst, made.results[0].shape))
        return off, np.where(shaky, np.inf, 0.0)

    def _candidates(self, values: Sequence[Array]) -> tuple[Array, Array]:
        elements, *given, first, starts = values
        shape = [-1 if d == self.dim else 1 for d in range(elements.ndim)]
        counted = np.arange(elements.shape[self.dim]).reshape(shape)
        positions = given[0] if given else np.broadcast_to(counted, elements.shape)
        return (
            np.concatenate([first, elements], self.dim),
            np.concatenate([starts, positions.astype(starts.dtype)], self.dim),
        )

    def _inserted(self, elements: Array, positions: Array, count: int) -> tuple[Array, ...]:
        """One element after another into the results, as IREE has it."""
        rows, places = (np.moveaxis(a, self.dim, 0).copy() for a in (elements, positions))
        ranks = self.order.ranks(rows).copy()
        for new in range(count, len(rows)):
            for old in range(count):
                before = ranks[new] < ranks[old]
                before |= (ranks[new] == ranks[old]) & (places[new] < places[old])
                for table in (rows, places, ranks):
                    table[old], table[new] = (
                        np.where(before, table[new], table[old]),
                        np.where(before, table[old], table[new]),
                    )
        return tuple(np.moveaxis(a[:count], 0, self.dim) for a in (rows, places))

    def _begins_in_order(self, values: Sequence[Array]) -> bool:
        """Whether what the results start from is sorted: -inf everywhere, as exporters have it."""
        first, starts = (np.moveaxis(v, self.dim, 0) for v in values[-2:])
        ranks = self.order.ranks(first)
        after = ranks[1:] > ranks[:-1]
        after |= (ranks[1:] == ranks[:-1]) & (starts[1:] >= starts[:-1])
        return bool(after.all())


def _has_nan(ranks: Array) -> bool:
    return ranks.dtype.kind == "f" and bool(np.isnan(ranks).any())


def _example(
    shape: tuple[int, ...], dim: int, count: int, order: Order, element: str, given: bool
) -> tuple[TopK, tuple[TensorType, ...]]:
    first = (*shape[:dim], count, *shape[dim + 1 :])
    made = (TensorType(first, element), TensorType(first, "i32"))
    read = (TensorType(shape, element), *([TensorType(shape, "i32")] if given else []))
    types = (*read, *made, *made)
    last = len(types)
    return TopK(tuple(range(last - 2)), (last - 2, last - 1), dim, order), types
