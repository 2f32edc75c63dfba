"""What ops with one result have in common: which tensors they read and make."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unary:
    """One tensor in, one tensor out."""

    source: int
    result: int

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return (self.source,)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return (self.result,)


@dataclass(frozen=True, slots=True)
class Variadic:
    """Any number of tensors in, one tensor out."""

    sources: tuple[int, ...]
    result: int

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return self.sources

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return (self.result,)
