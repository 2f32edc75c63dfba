"""How many cache lines accesses touch: in one instruction, in a workgroup, among neighbours."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutopt.pricing.analytic.compiled.trace import Access

LINE_BYTES = 128
"""A line of the caches of CDNA 3 and CDNA 4: AMD CDNA 3 white paper, "128B cache line"."""
BANKS = 32
BANK_BYTES = 4
"""LDS: 32 banks of 4 bytes a cycle (AMD CDNA 3 instruction set guide, "Local Data Share")."""
_NOWHERE = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines of one direction that a workgroup touches, in the mean of all runs of a body."""

    instructions: float = 0.0
    """Of a wave, in the compiler's IR: the assembly may have fewer that are wider."""
    bytes: float = 0.0
    """Asked for by active lanes."""
    wave: float = 0.0
    """Different lines in each instruction of a wave, summed up."""
    group: float = 0.0
    """Different lines in one run of the body by a workgroup."""
    shared: float = 0.0
    """The same among workgroups that run at the same time, divided by their number."""
    fresh: float = 1.0
    """Share of ``group`` that earlier rounds of the body did not touch already."""
    shared_fresh: float = 1.0
    """The same of ``shared``."""


def lines_of(accesses: Iterable[Access], wave_size: int, rounds: float) -> Lines:
    """Lines of accesses in one body that go in one direction; ``rounds``: runs of that body."""
    held = sorted(accesses, key=lambda a: a.sample)
    if not held or not rounds:
        return Lines()
    totals, tables = np.zeros(5), []
    for _, run in groupby(held, key=lambda a: a.sample):
        part = list(run)
        found, table = _of_run(part, wave_size)
        totals += part[0].weight * np.asarray(found)
        if table is not None:
            tables.append(table)
    instructions, asked, wave, group, shared = (float(total) for total in totals / rounds)
    return Lines(instructions, asked, wave, group, shared, *_fresh(tables))


Table = NDArray[np.int64]
"""Lines by workgroup; `_NOWHERE` for none."""


def _of_run(accesses: Sequence[Access], wave_size: int) -> tuple[tuple[float, ...], Table | None]:
    """Instructions, bytes and lines of one round, and which lines they are."""
    groups = len(accesses[0].mask)
    asked, wave, rows, scattered = 0.0, 0.0, [], 0.0
    for access in accesses:
        active = float(access.mask.sum()) / groups
        asked += active * access.lane_bytes
        if access.addresses is None:  # as far as is known, each lane reads somewhere else
            wave += active
            scattered += active
            continue
        first = access.addresses // LINE_BYTES
        last = (access.addresses + access.lane_bytes - 1) // LINE_BYTES
        for line in (first, last) if np.any(first != last) else (first,):
            masked = np.where(access.mask, line, _NOWHERE)
            wave += float(_different(masked.reshape(-1, wave_size)).sum()) / groups
            rows.append(masked)
    if not rows:
        return (len(accesses), asked, wave, scattered, scattered), None
    table = np.concatenate(rows, axis=1)
    group = float(_different(table).mean())
    shared = float(_different(table.reshape(1, -1))[0]) / groups
    return (len(accesses), asked, wave, group + scattered, shared + scattered), table


def _fresh(tables: Sequence[Table]) -> tuple[float, float]:
    """Shares of the lines of later rounds that the first did not touch, by workgroup and all."""
    if len(tables) < 2 or len({len(table) for table in tables}) > 1:
        return 1.0, 1.0
    return _new_share(tables), _new_share([table.reshape(1, -1) for table in tables])


def _new_share(tables: Sequence[Table]) -> float:
    counts = [float(_different(table).sum()) for table in tables]
    together = float(_different(np.concatenate(tables, axis=1)).sum())
    later = sum(counts) - counts[0]
    return (together - counts[0]) / later if later else 1.0


def _different(rows: NDArray[Any]) -> NDArray[np.int64]:
    """Different numbers in each row, those that stand for nothing left out."""
    ordered = np.sort(rows, axis=1)
    new = np.ones(ordered.shape, bool)
    new[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    return (new & (ordered != _NOWHERE)).sum(axis=1)  # type: ignore[no-any-return]


def shared_memory_cycles(accesses: Iterable[Access], wave_size: int, rounds: float) -> float:
    """Cycles of the LDS for one run of a body by a workgroup, bank conflicts included."""
    total = 0.0
    for access in accesses:
        active = access.mask[:1].reshape(-1, wave_size)
        least = float(active.sum()) * access.lane_bytes / (BANKS * BANK_BYTES)
        cycles = least
        if access.addresses is not None:
            words = access.addresses[:1].reshape(-1, wave_size) // BANK_BYTES
            cycles = max(least, _conflicts(words, active, -(-access.lane_bytes // BANK_BYTES)))
        total += access.weight * cycles
    return total / rounds if rounds else 0.0


def _conflicts(words: NDArray[np.int64], active: NDArray[np.bool_], count: int) -> float:
    """Cycles that the fullest bank takes, summed over waves; equal words are read once."""
    cycles = 0.0
    for row, mask in zip(words, active, strict=True):
        if mask.any():
            touched = np.unique((row[mask][:, None] + np.arange(count)).ravel())
            cycles += float(np.bincount(touched % BANKS).max())
    return cycles
