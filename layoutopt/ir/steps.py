"""What a loop counts through."""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.ir.size import Size


@dataclass(frozen=True, slots=True)
class Steps:
    """The values of a loop's variable: ``first``, ``first + by``, ...; ``by`` is positive."""

    first: int
    by: int
    count: int
    """How many; a size where that is known at run time."""

    @property
    def last(self) -> int:
        """The last value, if there is one."""
        return self.first + self.by * (self.count - 1)

    @property
    def values(self) -> range | None:
        """All of them; None where it is not known how many."""
        if isinstance(self.count, Size):
            return None
        return range(self.first, self.first + self.by * self.count, self.by)
