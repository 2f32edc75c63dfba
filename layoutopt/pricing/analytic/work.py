"""What a dispatch has to do, in numbers: the input of the roofline."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Contraction:
    """Sizes of a contraction as batch x m x n x k; a convolution counts as its implicit matmul."""

    batch: int
    m: int
    n: int
    k: int
    element: str
    """Element type of its inputs."""

    @property
    def operations(self) -> int:
        """Multiplications and additions."""
        return 2 * self.batch * self.m * self.n * self.k


@dataclass(frozen=True, slots=True)
class DispatchWork:
    """One dispatch."""

    reads: tuple[int, ...]
    """Bytes of each tensor read, each counted once."""
    writes: tuple[int, ...]
    """Bytes of each tensor written."""
    contraction: Contraction | None = None
    share: float = 1.0
    """Share of the rates that its form reaches, beside what the sizes explain."""
    known_form: bool = True
    """Whether the model describes the form; else only `share` does, and is less sure."""

    @property
    def size_bytes(self) -> int:
        """Bytes moved, without repeats."""
        return sum(self.reads) + sum(self.writes)


@dataclass(frozen=True, slots=True)
class Estimate:
    """Nanoseconds, how far off they may be, and what bounds the time."""

    ns: float
    uncertainty: float
    """Two of three estimates are within a factor of 1 + this of the time."""
    bound: str
    reason: str = ""
    """Why it is not the time of a compiled kernel, where it was to be."""

    @property
    def low_ns(self) -> float:
        """The lower end of the interval."""
        return self.ns / (1 + self.uncertainty)

    @property
    def high_ns(self) -> float:
        """The upper end of the interval."""
        return self.ns * (1 + self.uncertainty)

    @property
    def robust_ns(self) -> float:
        """A price for plans: of two candidates within their uncertainty the surer one is cheaper.

        Half a standard error is added: the 69th percentile of a normal distribution.
        """
        return self.ns * (1 + self.uncertainty / 2)
