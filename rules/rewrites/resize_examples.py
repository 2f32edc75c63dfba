"""A linear resize as importers write it, along the last dims, for rules to show themselves on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from layoutopt.ir.extensions.computed_reads import ComputedReads
from layoutopt.ir.graph import Graph, GraphBuilder
from layoutopt.ir.scalar import Body, ScalarOp, scalar_constant


def linear_resize(
    shape: Sequence[int], made: Sequence[int], *, corners: bool = False, element: str = "f32"
) -> Graph:
    """Tensor 0 as tensor 1: between two elements along each dim that grows or shrinks.

    ``corners``: first and last elements keep their places; else the middles of elements do.
    """
    builder = GraphBuilder()
    x, y = builder.tensor(shape, element), builder.tensor(made, element)
    builder.add(ComputedReads((x,), (y,), (), _Writer(shape, made, corners, element).body()))
    return builder.build((x,), (y,))


class _Writer:
    def __init__(
        self, shape: Sequence[int], made: Sequence[int], corners: bool, element: str
    ) -> None:
        self.shape, self.made, self.corners, self.element = shape, made, corners, element
        self.ops: list[ScalarOp] = []

    def body(self) -> Body:
        """The sum over the neighbours along all resized dims, the last dim innermost."""
        ways = [self._neighbours(d) for d in range(len(self.shape))]
        sums = {
            tuple(place for place, _ in way): self._read([place for place, _ in way])
            for way in product(*ways)
        }
        for dim in reversed(range(len(ways))):
            factors = dict(ways[dim])
            added: dict[tuple[int, ...], int] = {}
            for places, value in sums.items():
                factor = factors[places[dim]]
                own = value if factor is None else self._op("arith.mulf", factor, value)
                rest = (*places[:dim], -1, *places[dim + 1 :])
                added[rest] = own if rest not in added else self._op("arith.addf", added[rest], own)
            sums = added
        (total,) = sums.values()
        if self.element != "f32":
            total = self._add(ScalarOp("arith.truncf", (total,), self.element))
        return Body((), tuple(self.ops), (total,))

    def _neighbours(self, dim: int) -> list[tuple[int, int | None]]:
        """Places and factors along a dim; a dim that keeps its size is read where it is written."""
        at = self._add(ScalarOp("linalg.index", (), "index", (("dim", str(dim)),)))
        size, made = self.shape[dim], self.made[dim]
        if size == made:
            return [(at, None)]
        point = self._cast(at, ("arith.index_cast", "i64"), ("arith.sitofp", "f32"))
        if self.corners:
            point = self._op("arith.mulf", point, self._number((size - 1) / (made - 1)))
        else:
            middle = self._op("arith.addf", point, self._number(0.5))
            scaled = self._op("arith.divf", middle, self._number(made / size))
            point = self._op("arith.subf", scaled, self._number(0.5))
        last = self._number(size - 1)
        point = self._op("arith.maximumf", point, self._number(0.0))
        point = self._op("arith.minimumf", point, last)
        low = self._add(ScalarOp("math.floor", (point,), "f32"))
        following = self._op("arith.addf", low, self._number(1.0))
        high = self._op("arith.minimumf", following, last)
        casts = ("arith.fptosi", "i64"), ("arith.index_cast", "index")
        return [
            (self._cast(low, *casts), self._op("arith.subf", following, point)),
            (self._cast(high, *casts), self._op("arith.subf", point, low)),
        ]

    def _read(self, places: Sequence[int]) -> int:
        value = self._add(
            ScalarOp("tensor.extract", tuple(places), self.element, (("source", "0"),))
        )
        return value if self.element == "f32" else self._cast(value, ("arith.extf", "f32"))

    def _cast(self, value: int, *steps: tuple[str, str]) -> int:
        for name, element in steps:
            value = self._add(ScalarOp(name, (value,), element))
        return value

    def _number(self, value: float) -> int:
        return self._add(scalar_constant(f"{float(value)!r} : f32", "f32"))

    def _op(self, name: str, lhs: int, rhs: int) -> int:
        return self._add(ScalarOp(name, (lhs, rhs), "f32"))

    def _add(self, op: ScalarOp) -> int:
        self.ops.append(op)
        return len(self.ops) - 1
