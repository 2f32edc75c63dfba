"""Candidates that IREE refused inside a model, kept for the next run of the same model.

They are named by a digest of what they are: clusters and layouts are enumerated in one order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from pathlib import Path

from layoutopt.candidates.candidate import Candidate
from layoutopt.files.sealed import sealed, unsealed
from layoutopt.files.written import write_text

_FORMAT = 2
"""To be raised where the files are written in another way."""


def digest(candidate: Candidate) -> str:
    """A name for a candidate of one function."""
    return _digest_of(repr(candidate))[:32]


def _digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Avoided:
    """A file of digests for each function of a model; ``folder`` is None where nothing is kept."""

    def __init__(self, folder: Path | None, keys: Sequence[str]) -> None:
        """``keys``: what tells each function from others: its graph, target, compiler, flags."""
        self._folder = folder
        self._names = [f"avoided-{_digest_of(f'{_FORMAT} {key}')}.json" for key in keys]
        self.digests = [self._recall(name) for name in self._names]
        self._known = list(self.digests)

    def add(self, found: Sequence[Collection[Candidate]]) -> bool:
        """Avoid more candidates of each function; whether there are any new ones."""
        before = list(self.digests)
        self.digests = [
            known | {digest(c) for c in more} for known, more in zip(before, found, strict=True)
        ]
        return self.digests != before

    def remember(self) -> None:
        """Keep what is avoided, now that the plan without it compiles."""
        if self._folder is None:
            return
        for name, known, digests in zip(self._names, self._known, self.digests, strict=True):
            if digests != known:
                self._folder.mkdir(parents=True, exist_ok=True)
                write_text(self._folder / name, sealed(sorted(digests)))

    def _recall(self, name: str) -> frozenset[str]:
        if self._folder is None:
            return frozenset()
        return unsealed(self._folder / name, frozenset[str]) or frozenset()
