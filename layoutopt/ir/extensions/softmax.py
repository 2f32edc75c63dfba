"""``linalg.softmax``: exponentials along one dim, divided by their sum.

softmax(x:L) -> y:L        where the dim has no tile, and the padding of y holds anything
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutopt.ir.along_dim import AlongDim
from layoutopt.ir.extension import Evaluated, Occurrence
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.size_values import empty_text
from layoutopt.ir.types import Array, TensorType, roundoff

_ROUNDINGS = 128
"""Of the exponential, which IREE approximates, of the difference and the quotient."""


@dataclass(frozen=True, slots=True)
class Softmax(AlongDim):
    """One tensor in, one out, of the same type."""

    mlir_name = "linalg.softmax"

    @classmethod
    def operands(cls, operation: Any) -> Sequence[Any]:
        """The input; the init of the result is never read."""
        return list(operation.operands)[:1]

    @classmethod
    def read(cls, found: Occurrence) -> Softmax | Refusal:
        """The op; its dim is an attribute."""
        source, result = found.types
        if source != result:
            return Refusal(f"expected one type, but got {source} and {result}")
        if roundoff(source.element) is None:
            return Refusal(f"expected floats, but got {source.element}")
        return cls(found.sources, found.results, found.dim)

    @classmethod
    def examples(cls) -> tuple[tuple[Softmax, tuple[TensorType, ...]], ...]:
        """Along the last dim, an inner and the only one."""
        return tuple(
            (cls((0,), (1,), dim), (TensorType(shape, "f32"),) * 2)
            for shape, dim in (((6, 10), 1), ((4, 6, 8), 1), ((5,), 0))
        )

    def emit(self, types: Sequence[TensorType]) -> list[str]:
        """The named op."""
        (source,), (result,) = self.sources, self.results
        kind = types[result]
        return [
            f"  %t{result}_empty = {empty_text(kind)}",
            f"  %t{result} = linalg.softmax dimension({self.dim}) ins(%t{source} : {kind}) "
            f"outs(%t{result}_empty : {kind}) -> {kind}",
        ]

    def evaluate(self, values: Sequence[Array], types: Sequence[TensorType]) -> tuple[Array, ...]:
        """Less the maximum along the dim, as implementations have it."""
        with np.errstate(all="ignore"):
            x = values[0].astype(np.float64)
            raised = np.exp(x - x.max(axis=self.dim, keepdims=True, initial=-np.inf))
            found = raised / raised.sum(axis=self.dim, keepdims=True)
        return (found.astype(values[0].dtype),)

    def error(self, made: Evaluated) -> tuple[Array | None, ...]:
        """To first order, an error d of all x changes y by 2 d y; denormals may be flushed."""
        with np.errstate(all="ignore"):
            x, y = made.values[0].astype(np.float64), made.results[0].astype(np.float64)
            unit = roundoff(made.types[self.results[0]].element) or 0.0
            size = np.abs(x - x.max(axis=self.dim, keepdims=True, initial=-np.inf))
            size = np.where(np.isfinite(size), size, 0.0).max(
                axis=self.dim, keepdims=True, initial=0.0
            )
            along = 0.0
            if made.errors[0] is not None:
                along = np.asarray(made.errors[0]).max(axis=self.dim, keepdims=True, initial=0.0)
            relative = np.expm1(2 * (along + unit * size))
            relative = relative + (_ROUNDINGS + self.terms(made.types)) * unit
            error = np.where(np.isnan(y), 0.0, y * relative + np.finfo(np.float32).tiny)
        return (np.where(np.isnan(error), np.inf, error),)

    def terms(self, types: Sequence[TensorType]) -> int:
        """The length of the dim."""
        return types[self.sources[0]].shape[self.dim]
