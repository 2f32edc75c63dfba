"""Modules timed in turns, in one process, and their dispatches under the profiler."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutopt.errors import LoweringError
from layoutopt.runtime.behind import alone
from layoutopt.runtime.element import Value
from layoutopt.runtime.model import (
    DispatchTime,
    ModelCall,
    dispatch_events,
    dispatch_times,
    time_models,
)
from layoutopt.runtime.setting import RunSetting
from layoutopt.verification.data_movement import move_dispatches
from layoutopt.verification.evaluated import OPTIMIZED, PointTime, Variant, VariantResult

_PROFILED_RUNS = 15
"""Runs of the optimized module under the profiler; of each call, the fastest count."""


@dataclass(frozen=True)
class Timing:
    """A function, and what the original and the optimized module are called on."""

    name: str
    inputs: Sequence[Value]
    packed: Sequence[Value]
    share: float = 1.0
    """Of the times of a function at several sizes, how much this one counts."""
    first: bool = True
    """Whether it is at the first of the sizes: its dispatches are counted."""
    point: int | None = None
    """The place of its size among those that are planned for."""

    def of(self, variant: str) -> Sequence[Value]:
        """Its arguments, as a variant takes them."""
        return self.packed if variant == OPTIMIZED else self.inputs


def not_timed(
    everyone: Sequence[Variant], failures: Mapping[str, str], reason: str
) -> tuple[VariantResult, ...]:
    """Results without times, for those that fail with what they fail for."""
    return tuple(
        VariantResult(v.name, v.flags, None, None, 0.0, None, failures.get(v.name, reason))
        for v in everyone
    )


def time_variants(
    everyone: Sequence[Variant],
    peers: Collection[str],
    working: Mapping[str, Path],
    timings: Sequence[Timing],
    failures: dict[str, str],
    setting: RunSetting,
) -> tuple[VariantResult, ...]:
    """Results of all variants and peers: times, dispatches of those that the report is about.

    ``peers``: names of other runtimes. ``working``: what each of the others runs. What fails here
    joins ``failures``.
    """
    names = [v.name for v in everyone if v.name in working]
    total = dict.fromkeys(names, 0.0)
    fastest = dict.fromkeys(names, 0.0)
    spread = dict.fromkeys(names, 0.0)
    by_size: dict[str, list[PointTime]] = {name: [] for name in names}
    held: dict[str, int] = {}
    for timing in timings:
        calls = [
            ModelCall(working[n], timing.name, timing.of(n), n if n in peers else "") for n in names
        ]
        with alone():
            timed = time_models(calls, setting)
        for name, measured in zip(names, timed, strict=True):
            if not measured.ok:
                failures[name] = measured.reason
                continue
            total[name] += timing.share * measured.median_ns / 1e6
            fastest[name] += timing.share * measured.fastest_ns / 1e6
            spread[name] = max(spread[name], measured.spread)
            if measured.held_bytes is not None:
                held[name] = max(held.get(name, 0), measured.held_bytes)
            if timing.point is not None:
                by_size[name].append(PointTime(timing.name, timing.point, measured.median_ns / 1e6))
    left = [n for n in names if n not in failures and n not in peers]
    profiles: dict[str, list[DispatchTime]] = {}
    if dispatch_events(setting.device) is not None and left:
        default, kept = left[0], min(left, key=lambda n: total[n])
        for name in dict.fromkeys((default, kept, OPTIMIZED)):
            found = _profile(working[name], name, timings, setting) if name in left else None
            if found is not None:
                profiles[name] = found
    mine = profiles.get(OPTIMIZED, [])
    calls_ns = tuple((d.name, ns) for d in mine for ns in d.calls_ns)
    return tuple(
        VariantResult(v.name, v.flags, None, None, 0.0, None, failures[v.name])
        if v.name in failures
        else VariantResult(
            v.name,
            v.flags,
            total[v.name],
            fastest[v.name],
            spread[v.name],
            sum(d.count for d in profiles[v.name]) if v.name in profiles else None,
            calls=calls_ns if v.name == OPTIMIZED else (),
            moves=tuple(move_dispatches(mine)) if v.name == OPTIMIZED else (),
            by_size=tuple(by_size[v.name]),
            held_bytes=held.get(v.name),
        )
        for v in everyone
    )


def _profile(
    module: Path, variant: str, timings: Sequence[Timing], setting: RunSetting
) -> list[DispatchTime] | None:
    """The dispatches of all functions, one after another; None where the profiler fails.

    Of the original, dispatches are only counted.
    """
    runs = _PROFILED_RUNS if variant == OPTIMIZED else 1
    found: list[DispatchTime] = []
    for timing in (t for t in timings if t.first):
        try:
            found += dispatch_times(module, timing.name, timing.of(variant), setting, runs)
        except LoweringError:  # times of dispatches are left out, those of the module are known
            return None
    return found
