"""Read AMDGPU assembly as `iree-compile` dumps it (`*.rocmasm`): registers, loops, instructions.

Metadata: LLVM AMDGPU user guide, "Code Object V5 Metadata". Vector instructions take four cycles,
64 lanes on 16 units; transcendental ones and products of integers four times as long
(SISchedule.td).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from layoutopt.pricing.analytic.compiled.loops import regions
from layoutopt.pricing.analytic.compiled.matrix_passes import matrix_cycles

_START = re.compile(r"^(\"[^\"]+\"|[\w.$-]+):\s*(?:;.*)?$")
_LABEL = re.compile(r"^(\.L\w+):")
_BRANCH = re.compile(r"^\s+s_c?branch\w*\s+(\.L\w+)")
_LINE = re.compile(r"^\s+([a-z]\w+)(?:\s+(.*))?$")
_SLOW = re.compile(r"v_(?:exp|log|rcp|rsq|sqrt|sin|cos|mul_lo_u32|mul_hi|mad_u64|mad_i64|div_)")
_WIDTH = re.compile(r"(?:dwordx(\d)|(dword|ubyte|sbyte|ushort|sshort|short|byte|d16))")
_SHARED = re.compile(r"ds_\w*?(read2st64|read2|write2st64|write2)?_?(?:tr_)?b(\d+)")
VALU_CYCLES = 4
SLOW_CYCLES = 16


@dataclass(frozen=True, slots=True)
class Counts:
    """Instructions of one wave in one run of a body, by the unit that they occupy."""

    matrix_cycles: int = 0
    """Cycles of the matrix unit."""
    matrix: int = 0
    vector_cycles: int = 0
    """Cycles of the vector unit."""
    scalar: int = 0
    loads: int = 0
    """From global memory."""
    stores: int = 0
    load_bytes: int = 0
    """A lane."""
    lds_reads: int = 0
    lds_read_bytes: int = 0
    """A lane."""
    lds_writes: int = 0
    lds_write_bytes: int = 0
    barriers: int = 0
    waits: int = 0
    """For global memory."""
    idle: int = 0
    """Cycles of ``s_nop``."""
    scratch_bytes: int = 0
    """A lane: loaded and stored, of spilled registers and of arrays that no register holds."""

    def __add__(self, other: Counts) -> Counts:
        return Counts(*(getattr(self, n) + getattr(other, n) for n in _COUNTED))


_COUNTED = tuple(Counts.__dataclass_fields__)


@dataclass(frozen=True, slots=True)
class Assembly:
    """One kernel: its registers, and what stands in each loop but in none inside it."""

    name: str
    vgprs: int
    sgprs: int
    spills: int
    scratch_bytes: int
    lds_bytes: int
    workgroup_size: tuple[int, int, int]
    wave_size: int
    bodies: tuple[Counts, ...]
    """The first one is outside of all loops."""
    depths: tuple[int, ...]
    """How many loops are around each body, its own included."""
    unknown: tuple[str, ...]
    """Matrix instructions whose time is not known."""


def parse_assembly(text: str) -> dict[str, Assembly]:
    """All kernels of a file that have metadata, by name."""
    lines = text.splitlines()
    metadata = dict(_metadata(text))
    found = {}
    for place, line in enumerate(lines):
        start = _START.match(line)
        name = start[1].strip('"') if start else ""
        if name in metadata:
            code = list(_code(lines[place + 1 :]))
            found[name] = _kernel(name, metadata[name], code)
    return found


def _code(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if line.startswith(("\t.section", "\t.size", ".Lfunc_end")) or ".amdhsa_kernel" in line:
            return
        code, _, _ = line.partition(";")
        yield code.rstrip()


def _kernel(name: str, fields: str, code: list[str]) -> Assembly:
    blocks = _blocks(code)
    whole = regions("", {block: after for block, (_, after) in blocks.items()})
    loops = whole.loops()
    bodies, unknown = [Counts() for _ in loops], dict[str, None]()
    for block, (lines, _) in blocks.items():
        owner = max((n for n, loop in enumerate(loops) if block in loop.members), default=0)
        for opcode, operands in lines:
            counts = _counted(opcode, operands)
            if counts is None:
                unknown[opcode] = None
            else:
                bodies[owner] = bodies[owner] + counts
    sizes = re.search(r"\.reqd_workgroup_size:\s+- (\d+)\s+- (\d+)\s+- (\d+)", fields)
    flat = _field(fields, "max_flat_workgroup_size")
    size = (int(sizes[1]), int(sizes[2]), int(sizes[3])) if sizes else (flat, 1, 1)
    return Assembly(
        name,
        _field(fields, "vgpr_count"),
        _field(fields, "sgpr_count"),
        _field(fields, "vgpr_spill_count"),
        _field(fields, "private_segment_fixed_size"),
        _field(fields, "group_segment_fixed_size"),
        size,
        _field(fields, "wavefront_size"),
        tuple(bodies),
        tuple(sum(loop.members <= other.members for other in loops) - 1 for loop in loops),
        tuple(unknown),
    )


_Block = tuple[list[tuple[str, str]], list[str]]


def _blocks(code: list[str]) -> dict[str, _Block]:
    """Basic blocks by name: their instructions, and where they go on to. The first one is ""."""
    found: dict[str, _Block] = {"": ([], [])}
    lines, after = found[""]
    open_end = True
    for place, line in enumerate(code):
        label, matched = _LABEL.match(line), _LINE.match(line)
        if label or not open_end:
            name = label[1] if label else f"line {place}"
            after.append(name)
            lines, after = found.setdefault(name, ([], []))
            open_end = True
        if matched is None or matched[1].startswith("."):
            continue
        lines.append((matched[1], matched[2] or ""))
        branch = _BRANCH.match(line)
        if branch:
            after.append(branch[1])
        if matched[1] in ("s_branch", "s_endpgm"):
            open_end, after = True, []  # what follows has a label, or is never reached
        elif branch:
            open_end = False
    known = {
        name: (lines, [a for a in after if a in found]) for name, (lines, after) in found.items()
    }
    return known


def _counted(name: str, operands: str) -> Counts | None:
    """What one instruction adds; None for a matrix instruction that the table lacks."""
    if name.startswith(("v_mfma", "v_smfmac")):
        cycles = matrix_cycles(name)
        return None if cycles is None else Counts(matrix_cycles=cycles, matrix=1)
    if name.startswith("v_"):
        return Counts(vector_cycles=SLOW_CYCLES if _SLOW.match(name) else VALU_CYCLES)
    if name.startswith("ds_"):
        return _shared(name)
    if name.startswith("scratch_"):
        return Counts(scratch_bytes=_size(name))
    if name.startswith(("buffer_", "global_", "flat_")):
        return _global(name)
    if name == "s_barrier":
        return Counts(barriers=1)
    if name == "s_waitcnt":
        return Counts(waits=int("vmcnt" in operands))
    if name == "s_nop":
        return Counts(idle=int(operands.split(maxsplit=1)[0], 0) + 1)
    return Counts(scalar=1) if name.startswith("s_") else Counts()


def _shared(name: str) -> Counts:
    found = _SHARED.match(name)
    twice = found is not None and found[1] is not None
    size = (int(found[2]) // 8 if found else 4) * (2 if twice else 1)
    if "write" in name:
        return Counts(lds_writes=1, lds_write_bytes=size)
    return Counts(lds_reads=1, lds_read_bytes=size)


def _global(name: str) -> Counts:
    if "_inv" in name or "_wb" in name:
        return Counts()
    if "_load" in name:
        return Counts(loads=1, load_bytes=_size(name))
    return Counts(stores=1)


def _size(name: str) -> int:
    """Bytes of a lane that a load or store moves."""
    found = _WIDTH.search(name)
    if found is None:
        return 4
    return 4 * int(found[1]) if found[1] else {"dword": 4}.get(found[2], 2)


def _metadata(text: str) -> Iterator[tuple[str, str]]:
    """Each kernel's name and its part of the metadata."""
    _, _, rest = text.rpartition("amdhsa.kernels:")
    parts = re.split(r"^  - ", rest, flags=re.MULTILINE)
    for part in parts[1:]:
        name = re.search(r"^\s+\.name:\s+(\S+)$", part, re.MULTILINE)
        if name is not None:
            yield name[1].strip("'\""), part


def _field(fields: str, name: str) -> int:
    found = re.search(rf"\.{name}:\s+(\d+)", fields)
    return int(found[1]) if found else 0
