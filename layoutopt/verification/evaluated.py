"""What running the modules told, and where it is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from layoutopt.files.sealed import sealed, unsealed
from layoutopt.files.written import write_text
from layoutopt.options import Budget
from layoutopt.runtime.setting import RunSetting
from layoutopt.runtime.version import iree_version
from layoutopt.verification.data_movement import MoveDispatch
from layoutopt.verification.verified import Subject, Verification

OPTIMIZED = "layoutopt"
"""Name of the planned variant among those that are timed."""


_PROTOCOL = 8
"""Goes up when modules are compared or timed in another way; what was remembered is done anew."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A module and the flags it is compiled with."""

    name: str
    source: Path
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PointTime:
    """The time of a function at one of the sizes that are planned for."""

    function: str
    point: int
    """The place of the size among them."""
    milliseconds: float
    """Median of the runs."""


@dataclass(frozen=True, slots=True)
class VariantResult:
    """What became of a variant: milliseconds per run, or the reason why there are none."""

    name: str
    flags: tuple[str, ...]
    milliseconds: float | None
    """Median of its runs."""
    fastest_ms: float | None
    """Mean of the three fastest runs: what is comparable with prices."""
    spread: float
    dispatches: int | None
    reason: str = ""
    calls: tuple[tuple[str, float], ...] = ()
    """(dispatch, nanoseconds) of each call inside one run, in order; of the optimized module."""
    moves: tuple[MoveDispatch, ...] = ()
    """The dispatches that only move data."""
    by_size: tuple[PointTime, ...] = ()
    """Its times at each of the sizes that are planned for."""
    held_bytes: int | None = None
    """Memory that a call has at most, results included, arguments and weights aside; of the
    function and the size that take the most, None where the device keeps no account."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Everything that running the modules told."""

    variants: tuple[VariantResult, ...]
    verification: Verification
    date_utc: str
    peers: tuple[VariantResult, ...] = ()
    """Other runtimes, timed in the same turns; ``reason`` may be what their results differ by."""

    def result(self, name: str) -> VariantResult:
        """The result of one variant."""
        return next(v for v in self.variants if v.name == name)

    @property
    def best_original(self) -> VariantResult | None:
        """The fastest of IREE's own flag sets on the original."""
        return self.best_within(None)

    def best_within(self, memory_bytes: int | None) -> VariantResult | None:
        """The fastest of those that hold no more memory; None: whatever they hold."""
        timed = [
            v
            for v in self.variants
            if v.name != OPTIMIZED
            and v.milliseconds is not None
            and (memory_bytes is None or v.held_bytes is None or v.held_bytes <= memory_bytes)
        ]
        return min(timed, key=lambda v: v.milliseconds or 0.0) if timed else None

    def memory_bytes(self, budget: Budget | None) -> int | None:
        """What a call may hold; None for no bound, and for a share of what is not known."""
        if budget is None:
            return None
        known = (v.held_bytes for v in self.variants if v.name != OPTIMIZED)
        whole = next((held for held in known if held is not None), None)
        if budget.percent and whole is None:
            return None
        return budget.size_bytes(whole or 0)


def content_key(
    variants: Sequence[Variant], subjects: Sequence[Subject], run: RunSetting, fingerprint: str
) -> str:
    """What tells one evaluation from another.

    Modules and parameter files by content, flags, how they are compared, device, IREE version.
    """
    digest = hashlib.sha256()
    files: dict[Path, str] = {}
    for variant in variants:
        if variant.source not in files:
            files[variant.source] = _file_digest(variant.source)
        digest.update(repr((variant.name, files[variant.source], variant.flags)).encode())
    for scope, path in run.archives:
        digest.update(repr((scope, _file_digest(path))).encode())
    where = (run.device, run.threads, tuple(subjects), fingerprint, iree_version())
    digest.update(repr((_PROTOCOL, *where)).encode())
    return digest.hexdigest()


def _file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def remember(memory: Path, key: str, evaluation: Evaluation) -> None:
    """Keep an evaluation in the folder ``memory``, whole or not at all."""
    memory.mkdir(parents=True, exist_ok=True)
    write_text(memory / f"{key}.json", sealed(asdict(evaluation)))


def recall(path: Path) -> Evaluation | None:
    """An evaluation that was kept, None where there is none, or none that is whole."""
    return unsealed(path, Evaluation)
