"""Things that hold a file, a process or a connection until they are closed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Self


class Closing(ABC):
    """A context manager that closes itself at the end, after an exception too."""

    @abstractmethod
    def close(self) -> None:
        """Give back what it holds."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self.close()
