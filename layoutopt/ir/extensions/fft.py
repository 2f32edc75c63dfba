"""``iree_linalg_ext.fft``: one stage of a Fourier transform along the last dim.

fft(re:L, im:L, w, w') -> re:L, im:L        where L keeps the last dim innermost, without tiles

A transform of 2^n numbers, in the order of their reversed bits, takes stages 1 to n.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from layoutopt.ir.extension import Evaluated, EvaluatedExtension, Occurrence
from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.region import known_errors
from layoutopt.ir.types import Array, TensorType, roundoff

_ROUNDINGS = 8
"""Of a product of complex numbers and a sum."""


@dataclass(frozen=True, slots=True)
class Fft(EvaluatedExtension):
    """``sources``: real and imaginary parts, then those of the twiddle factors."""

    stage: int = 1

    mlir_name = "iree_linalg_ext.fft"

    @classmethod
    def operands(cls, operation: Any) -> Sequence[Any]:
        """The tensors; the stage is a number."""
        _, *factors, real, imaginary = operation.operands
        return [real, imaginary, *factors]

    @classmethod
    def read(cls, found: Occurrence) -> Fft | Refusal:
        """The op; its stage has to be a constant."""
        stage = getattr(found.operation.operands[0].owner, "attributes", {})
        if len(found.sources) != 4:
            return Refusal(
                "expected twiddle factors, or a stage that is a constant, but got neither"
            )
        if "value" not in stage:
            return Refusal("expected a constant stage, but it is computed")
        element = found.types[found.results[0]].element
        if roundoff(element) is None:
            return Refusal(f"expected floats, but got {element}")
        return cls(found.sources, found.results, int(str(stage["value"]).split()[0]))

    @classmethod
    def examples(cls) -> tuple[tuple[Fft, tuple[TensorType, ...]], ...]:
        """Along one and several dims."""
        vector, image = TensorType((8,), "f32"), TensorType((3, 4, 16), "f32")
        return (
            (cls((0, 1, 2, 3), (4, 5), 2), _types(vector, 2)),
            (cls((0, 1, 2, 3), (4, 5), 4), _types(image, 8)),
        )

    def emit(self, types: Sequence[TensorType]) -> list[str]:
        """The named op; the parts are what the results start from."""
        (real, imaginary, *factors), (result, other) = self.sources, self.results
        stage = f"%t{result}_stage"
        names = ", ".join([stage, *(f"%t{t}" for t in factors)])
        kinds = ", ".join(["index", *(str(types[t]) for t in factors)])
        kind = types[result]
        return [
            f"  {stage} = arith.constant {self.stage} : index",
            f"  %t{result}, %t{other} = {self.mlir_name} ins({names} : {kinds}) "
            f"outs(%t{real}, %t{imaginary} : {kind}, {kind}) : {kind}, {kind}",
        ]

    def evaluate(self, values: Sequence[Array], types: Sequence[TensorType]) -> tuple[Array, ...]:
        """Halves of groups of 2^stage numbers: their sum and difference, one turned."""
        numbers = values[0].astype(np.float64) + 1j * values[1].astype(np.float64)
        with np.errstate(all="ignore"):
            first, second = self._halves(numbers)
            turned = second * (values[2].astype(np.float64) + 1j * values[3].astype(np.float64))
            found = self._joined(first + turned, first - turned, numbers.shape)
        dtype = values[0].dtype
        return found.real.astype(dtype), found.imag.astype(dtype)

    def error(self, made: Evaluated) -> tuple[Array | None, ...]:
        """Both parts by what either may be off by."""
        unit = roundoff(made.types[self.results[0]].element) or 0.0
        sizes = [np.abs(v.astype(np.float64)) for v in made.values]
        missing = [known_errors(e, v.shape) for e, v in zip(made.errors, made.values, strict=True)]
        with np.errstate(all="ignore"):
            (first, second), (off, beside) = (
                self._halves(a + b) for a, b in (sizes[:2], missing[:2])
            )
            factor, spread = sizes[2] + sizes[3], missing[2] + missing[3]
            error = off + beside * (factor + spread) + second * spread
            error = error + _ROUNDINGS * unit * (first + second * factor)
            both = self._joined(error, error, made.values[0].shape) + np.finfo(np.float32).tiny
        both = np.where(np.isnan(both), np.inf, both)
        return both, both

    def terms(self, types: Sequence[TensorType]) -> int:
        """Two."""
        return 2

    def loops(self, types: Sequence[TensorType]) -> Mapping[int, Sequence[Hashable]]:
        """All dims of the parts but the last."""
        outer = range(len(types[self.results[0]].shape) - 1)
        return dict.fromkeys((*self.sources[:2], *self.results), (*outer, None))

    def propagate(
        self, types: Sequence[TensorType], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """The parts share a layout; the twiddle factors are vectors."""
        parts = (*self.sources[:2], *self.results)
        own = layout if tensor in parts else row_major(len(types[parts[0]].shape))
        found = {t: own if t in parts else row_major(1) for t in (*self.inputs, *self.outputs)}
        found[tensor] = layout
        return self.refusal(found, types) or found

    def refusal(self, layouts: Assignment, types: Sequence[TensorType]) -> Refusal | None:
        """The last dim is innermost, the parts lie in one order, the factors as they are."""
        own = layouts[self.results[0]]
        if own.is_tiled or own.outer_dims_perm[-1] != own.rank - 1:
            return Refusal(f"expected the last dim of {self.mlir_name} innermost, but got {own}")
        for t in (*self.inputs, *self.outputs):
            wanted = row_major(1) if t in self.sources[2:] else own
            if layouts[t].padded_with(wanted.padding) != wanted:
                return Refusal(f"expected one layout around {self.mlir_name}, but got {layouts[t]}")
        return None

    def _halves(self, array: Array) -> tuple[Array, Array]:
        half = 1 << (self.stage - 1)
        groups = array.reshape(*array.shape[:-1], -1, 2, half)
        return groups[..., 0, :], groups[..., 1, :]

    def _joined(self, first: Array, second: Array, shape: tuple[int, ...]) -> Array:
        return np.stack([first, second], axis=-2).reshape(shape)


def _types(part: TensorType, count: int) -> tuple[TensorType, ...]:
    factors = TensorType((count,), part.element)
    return part, part, factors, factors, part, part
