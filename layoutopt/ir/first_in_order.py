"""Ops that find what comes first in each row in an order, and its positions: topk, arg_compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from layoutopt.ir.along_dim import AlongDim
from layoutopt.ir.order import Order, plain_order
from layoutopt.ir.types import TensorType

_FALLING = plain_order("f32", "ogt")


@dataclass(frozen=True, slots=True)
class FirstInOrder(AlongDim):
    """The last two sources are what elements and positions start from."""

    order: Order = _FALLING

    def emit(self, types: Sequence[TensorType]) -> list[str]:
        """The named op."""

        def operands(tensors: Sequence[int]) -> str:
            names, kinds = (f"%t{t}" for t in tensors), (str(types[t]) for t in tensors)
            return f"{', '.join(names)} : {', '.join(kinds)}"

        both = ", ".join(str(types[t]) for t in self.results)
        return [
            f"  {', '.join(f'%t{t}' for t in self.results)} = {self.mlir_name} "
            f"dimension({self.dim}) ins({operands(self.sources[:-2])}) "
            f"outs({operands(self.sources[-2:])}) {{",
            *self.order.lines([types[self.sources[0]].element], 0),
            f"  }} -> {both}",
        ]
