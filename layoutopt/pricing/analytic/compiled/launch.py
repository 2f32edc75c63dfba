"""How a kernel is called, and what is known where it starts."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from layoutopt.pricing.analytic.compiled.lane_values import BUFFER_SHIFT, Env
from layoutopt.pricing.analytic.compiled.llvm_ir import Function


@dataclass(frozen=True, slots=True)
class Geometry:
    """Workgroups that are looked at, and the shape of one."""

    workgroups: tuple[tuple[int, int, int], ...]
    """Ids (x, y, z) of those that run at the same time on one part of the device."""
    size: tuple[int, int, int]
    """Work items of a workgroup in x, y and z."""
    wave_size: int

    @property
    def lanes(self) -> int:
        """Work items of a workgroup, in whole waves."""
        x, y, z = self.size
        return -(-x * y * z // self.wave_size) * self.wave_size


@dataclass(frozen=True, slots=True)
class Call:
    """How a kernel is called: its workgroups in x, y and z, and numbers beside its buffers."""

    grid: tuple[int, ...]
    constants: tuple[int | None, ...] = ()
    """Of 32 bits, in the order of the parameters; None for one that is not known."""


def starting_values(
    function: Function, shared: dict[str, int], geometry: Geometry, call: Call
) -> Env:
    """What is known where a kernel starts: ids of lanes and workgroups, buffers, numbers."""
    x, y, _ = geometry.size
    linear = np.arange(geometry.lanes, dtype=np.int64)[None, :]
    groups = np.asarray(geometry.workgroups, dtype=np.int64)
    env: Env = {
        "linear": linear,
        "lane": linear % geometry.wave_size,
        "workitem.id.x": linear % x,
        "workitem.id.y": linear // x % y,
        "workitem.id.z": linear // (x * y),
        **{f"workgroup.id.{axis}": groups[:, place, None] for place, axis in enumerate("xyz")},
        **{f"workgroups.{axis}": np.int64(n) for axis, n in zip("xyz", call.grid, strict=False)},
    }
    for place, name in enumerate(function.parameters):
        env[name] = np.int64((place + 1) << BUFFER_SHIFT)
    for name, number in zip_longest(function.numbers, call.constants[: len(function.numbers)]):
        env[name] = None if number is None else np.int64(number)
    offset = 0
    for name, size in shared.items():
        env[name] = np.int64(offset)
        offset += -(-size // 16) * 16
    return env
