"""One function a case, with the conversions that may be left in it at most.

The cases are those that MLIR's own propagation and simplification of packs are tested on, said in
our words and with static sizes: an elementwise op ahead of a pack or behind an unpack, pads,
reshapes, slices and transposes in between, packs that are reshapes. The number is what has to run
where each tensor at the ends keeps its memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.conformance.text import Function

Write = Callable[[Function], str]


@dataclass(frozen=True, slots=True)
class Case:
    """A function and the packs, unpacks and transposes that may be left in it."""

    name: str
    most: int
    write: Write

    @property
    def text(self) -> str:
        """As MLIR."""
        return self.write(Function(self.name))


CASES: list[Case] = []


def case(most: int) -> Callable[[Write], Write]:
    """Put a function into the list under its own name."""

    def add(write: Write) -> Write:
        CASES.append(Case(write.__name__, most, write))
        return write

    return add
