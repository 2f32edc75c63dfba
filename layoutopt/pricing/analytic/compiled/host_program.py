"""What a compiled module asks of the device: dispatches, fills and copies, function by function.

Read from the text of `iree-compile --compile-to=hal`, in which kernels are compiled already.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

_OUTER = re.compile(r"^\s*util\.(?:func \w+ @([\w$.\"-]+)|initializer\b)")
_CONSTANT = re.compile(r"^\s*(%[\w-]+) = arith\.constant (-?\d+) : \w+")
_FUNCTION = re.compile(r"^\s*(%[\w-]+) = hal\.executable\.lookup\.function .*::@([\w$.\"-]+)\)")
_DISPATCH = re.compile(r"hal\.command_buffer\.dispatch<.*?\[(%[\w-]+)\] workgroups\(\[([^\]]*)\]\)")
_BINDING = re.compile(r"^\s*\(%[\w-]+ : [^)]*\)\[(%[\w-]+), (%[\w-]+)\],?")
_FILL = re.compile(
    r"hal\.command_buffer\.(fill|update)_buffer<.*target\(.*?\)\[(%[\w-]+), (%[\w-]+)\]"
)
_COPY = re.compile(r"hal\.command_buffer\.copy_buffer<.*length\((%[\w-]+)\)")
_QUEUED = re.compile(r"hal\.device\.queue\.(fill|copy|update)<.*length\((%[\w-]+)\)")
_ALLOCATED = re.compile(r"^\s*(%[\w-]+) = hal\.device\.queue\.alloca<.*!hal\.buffer\{(%[\w-]+)\}")
_FREED = re.compile(r"hal\.device\.queue\.dealloca<.*buffer\((%[\w-]+) :")
_CALL = re.compile(r"util\.call @([\w$.\"-]+)\(")
_STORE = re.compile(r"util\.global\.store .*, @([\w$.\"-]+) : !hal\.command_buffer")
_LOAD = re.compile(r"util\.global\.load (?:immutable )?@([\w$.\"-]+) : !hal\.command_buffer")
_LONGEST = 4_000
"""Characters of a line that are looked at: binaries and constants are printed in one line."""


@dataclass(frozen=True, slots=True)
class Command:
    """One thing that the device does: a kernel, or bytes that are filled or copied."""

    kernel: str
    """Empty for a fill or copy."""
    grid: tuple[int | None, ...]
    """Workgroups in x, y and z; None for a number that is known at run time only."""
    binding_bytes: tuple[int | None, ...]
    """Of each buffer; of a fill or copy, what it writes."""
    reads: bool = True
    """Whether a transfer reads what it writes: a copy, and no fill."""


@dataclass
class _Function:
    commands: list[Command] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    stores: list[str] = field(default_factory=list)
    buffers: list[tuple[str, int | None]] = field(default_factory=list)
    """What is allocated and freed, in order: (buffer, bytes), with 0 where it is freed."""
    values: dict[str, int] = field(default_factory=dict)
    kernels: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Program:
    """What each function of a module asks of the device in one call."""

    functions: dict[str, tuple[Command, ...]]
    roots: tuple[str, ...]
    """Those that no other function calls."""
    held_bytes: dict[str, int | None]
    """Memory that each function holds at most, beside its arguments and weights; None where that is
    known at run time only, or where functions that it calls hold some too."""


def read_program(lines: Iterable[str]) -> Program:
    """Read a module; commands that run when it is loaded are left out."""
    functions, initializers = _read(lines)
    recorded: dict[str, list[Command]] = {}
    for made in initializers:
        for name in made.stores:
            for called in made.calls:
                recorded.setdefault(name, []).extend(functions.get(called, _Function()).commands)
    kept = {called for made in initializers if made.stores for called in made.calls}
    inner = {name for function in functions.values() for name in function.calls}
    return Program(
        {
            name: tuple(_ran(name, functions, recorded, frozenset()))
            for name in functions
            if name not in kept
        },
        tuple(name for name in functions if name not in kept and name not in inner),
        {name: _held_bytes(name, functions) for name in functions},
    )


def _held_bytes(name: str, functions: dict[str, _Function]) -> int | None:
    found = functions[name]
    called = [functions[inner] for inner in found.calls if inner in functions]
    holding = [own for own in (found, *called) if own.buffers]
    if any(own.calls and own is not found for own in holding) or len(holding) > 1:
        return None
    held: dict[str, int] = {}
    most = 0
    for buffer, size in holding[0].buffers if holding else ():
        if size is None:
            return None
        held[buffer] = size
        most = max(most, sum(held.values()))
    return most


def _ran(
    name: str, functions: dict[str, _Function], recorded: dict[str, list[Command]],
    around: frozenset[str],
) -> Iterator[Command]:  # fmt: skip
    found = functions.get(name)
    if found is None or name in around:
        return
    yield from found.commands
    for stored in found.loads:
        yield from recorded.get(stored, [])
    for called in found.calls:
        yield from _ran(called, functions, recorded, around | {name})


def _read(lines: Iterable[str]) -> tuple[dict[str, _Function], list[_Function]]:
    functions: dict[str, _Function] = {}
    initializers: list[_Function] = []
    now = _Function()
    pending: tuple[str, tuple[int | None, ...], list[int | None]] | None = None
    for full in lines:
        line = full[:_LONGEST]
        outer = _OUTER.match(line)
        if outer:
            now = _Function()
            if outer[1]:
                functions[outer[1].strip('"')] = now
            else:
                initializers.append(now)
            continue
        if pending is not None:
            bound = _BINDING.match(line)
            if bound:
                pending[2].append(now.values.get(bound[2]))
                continue
            now.commands.append(Command(pending[0], pending[1], tuple(pending[2])))
            pending = None
            continue
        pending = _line(line, now)
    return functions, initializers


def _line(
    line: str, now: _Function
) -> tuple[str, tuple[int | None, ...], list[int | None]] | None:  # fmt: skip
    """Take in one line; a dispatch is handed back, for its bindings follow."""
    constant, looked_up = _CONSTANT.match(line), _FUNCTION.match(line)
    if constant:
        now.values[constant[1]] = int(constant[2])
    elif looked_up:
        now.kernels[looked_up[1]] = looked_up[2].strip('"')
    allocated, freed = _ALLOCATED.match(line), _FREED.search(line)
    if allocated:
        now.buffers.append((allocated[1], now.values.get(allocated[2])))
    elif freed:
        now.buffers.append((freed[1], 0))
    dispatched = _DISPATCH.search(line)
    if dispatched:
        grid = tuple(now.values.get(name.strip()) for name in dispatched[2].split(","))
        return now.kernels.get(dispatched[1], ""), grid, []
    filled, copied, queued = _FILL.search(line), _COPY.search(line), _QUEUED.search(line)
    if filled:
        now.commands.append(Command("", (), (now.values.get(filled[3]),), reads=False))
    elif copied:
        now.commands.append(Command("", (), (now.values.get(copied[1]),)))
    elif queued:
        reads = queued[1] == "copy"
        now.commands.append(Command("", (), (now.values.get(queued[2]),), reads))
    for pattern, found in ((_CALL, now.calls), (_LOAD, now.loads), (_STORE, now.stores)):
        matched = pattern.search(line)
        if matched:
            found.append(matched[1].strip('"'))
    return None
