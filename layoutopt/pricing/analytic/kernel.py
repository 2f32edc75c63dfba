"""Facts of a compiled GPU kernel, read from what `iree-compile` dumps beside the binary.

`--iree-hal-dump-executable-files-to=DIR` leaves `*.rocmasm` (AMDGPU assembly with its metadata, as
in the LLVM AMDGPU user guide, "Code Object V5 Metadata") and `configured_*.mlir` (tile sizes).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from layoutopt.profiles.machine import Machine, WorkgroupTile

VGPR_GRANULE = 8
"""Registers are given to waves in blocks: LLVM AMDGPU user guide, gfx90a and later."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel as it was compiled."""

    name: str
    matrix_instructions: int
    vgprs: int
    vgpr_spills: int
    lds_bytes: int
    workgroup_size: int
    wave_size: int
    tile: WorkgroupTile | None = None
    """What a workgroup computes in one step, where the dump says so; None without one."""

    def waves_per_simd(self, machine: Machine) -> int:
        """Waves that one SIMD holds at once, bounded by registers and by shared memory."""
        limits = [machine.most_waves]
        if machine.vgprs and self.vgprs:
            granted = -(-self.vgprs // VGPR_GRANULE) * VGPR_GRANULE
            limits.append(machine.vgprs // granted)
        if machine.lds_bytes and self.lds_bytes:
            waves = -(-self.workgroup_size // self.wave_size)
            limits.append(machine.lds_bytes // self.lds_bytes * waves // machine.simds)
        return max(1, min(limits))


def parse_kernel(assembly: str, configured: str = "") -> Kernel:
    """Read one `.rocmasm`, and the tile from `configured_*.mlir` where that is given.

    Raises ValueError where the text has no kernel metadata.
    """
    name = re.search(r"^\s+\.name:\s+(\S+)$", assembly, re.MULTILINE)
    if name is None:
        raise ValueError("assembly without kernel metadata")
    return Kernel(
        name=name[1],
        matrix_instructions=len(re.findall(r"^\s+v_(?:s?mfmac?|wmma)_", assembly, re.MULTILINE)),
        vgprs=_field(assembly, "vgpr_count"),
        vgpr_spills=_field(assembly, "vgpr_spill_count"),
        lds_bytes=_field(assembly, "group_segment_fixed_size"),
        workgroup_size=_field(assembly, "max_flat_workgroup_size"),
        wave_size=_field(assembly, "wavefront_size"),
        tile=parse_tile(configured),
    )


def parse_tile(configured: str) -> WorkgroupTile | None:
    """The tile of one reduction step from a `lowering_config` with a matrix instruction.

    The two innermost workgroup sizes that are not 0 are n and m; outer ones multiply m. `reduction`
    counts matrix instructions along k, and the instruction's name ends in its m x n x k.
    """
    shape = re.search(r"mma_kind = #iree_gpu\.\w+<\w+?_(\d+)x(\d+)x(\d+)(?:x(\d+)B)?", configured)
    workgroup, reduction = (_sizes(configured, word) for word in ("workgroup", "reduction"))
    if shape is None or not workgroup or not reduction:
        return None
    steps = 1
    for size in reduction:
        steps *= max(1, size)
    *outer, m, n = [size for size in workgroup if size] or [1, 1]
    for size in outer:
        m *= size
    return WorkgroupTile(m, n, steps * int(shape[3]))


def read_kernels(folder: Path) -> tuple[Kernel, ...]:
    """All kernels that were dumped into a folder, by file name."""
    found = []
    for path in sorted(folder.glob("*.rocmasm")):
        stem = path.name.removesuffix(".rocmasm")
        configured = next(
            (
                other
                for other in sorted(folder.glob("configured_*.mlir"))
                if stem.startswith(other.stem.removeprefix("configured_") + "_")
            ),
            None,
        )
        text = configured.read_text(errors="replace") if configured else ""
        found.append(parse_kernel(path.read_text(errors="replace"), text))
    return tuple(found)


def _field(assembly: str, name: str) -> int:
    found = re.search(rf"^\s+(?:- )?\.{name}:\s+(\d+)$", assembly, re.MULTILINE)
    return int(found[1]) if found else 0


def _sizes(configured: str, word: str) -> list[int]:
    config = configured.partition("iree_gpu.lowering_config<")[2]
    found = re.search(rf"\b{word} = \[([\d, ]+)\]", config)
    return [int(size) for size in found[1].split(",")] if found else []
