"""Candidates that IREE refused inside a model, kept for the next run of the same model.

They are named by what they are (`StableNames`), so that they are found again after rules were
added.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.stable_names import StableNames
from layoutopt.files.sealed import sealed, unsealed
from layoutopt.files.written import write_text
from layoutopt.ir.graph import Graph

_FORMAT = 3
"""To be raised where the files are written in another way."""


def digest(candidate: Candidate, names: StableNames) -> str:
    """A name for a candidate of one function."""
    layouts = sorted((names.tensors[t], str(layout)) for t, layout in candidate.layouts)
    form = f"{candidate.form.value}{candidate.tile or ''}"
    return _digest_of(repr((names.clusters[candidate.cluster], form, layouts)))[:32]


def among(
    candidates: Iterable[Candidate],
    graph: Graph,
    clusters: Sequence[Cluster],
    refused: Collection[str],
) -> set[Candidate]:
    """Those of the candidates that are refused. ``graph``: with all alternatives."""
    if not refused:
        return set()
    names = StableNames(graph, clusters)
    return {c for c in candidates if digest(c, names) in refused}


def _digest_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class KnownRefusals:
    """A file of digests for each function of a model; ``folder`` is None where nothing is kept."""

    def __init__(self, folder: Path | None, keys: Sequence[str]) -> None:
        """``keys``: what tells each function from others: its graph, target, compiler, flags."""
        self._folder = folder
        self._names = [f"refused-{_digest_of(f'{_FORMAT} {key}')}.json" for key in keys]
        self.digests = [self._recall(name) for name in self._names]
        self._known = list(self.digests)

    def add(self, found: Sequence[Collection[str]]) -> bool:
        """Leave out more candidates of each function, by digest; whether there are any new ones."""
        before = list(self.digests)
        self.digests = [known | set(more) for known, more in zip(before, found, strict=True)]
        return self.digests != before

    def remember(self) -> None:
        """Keep what is left out, now that the plan without it compiles."""
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
