"""What a compiled module asks of the device: dispatches, fills and copies, function by function.

Read from the text of `iree-compile --compile-to=hal`, in which kernels are compiled already. Sizes
that are known at run time only are those of a call: the program computes numbers of workgroups,
lengths and branches from the dims of its arguments.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from layoutopt.pricing.analytic.compiled.integer_text import Values, joined, take_integer

Given = Mapping[int, Sequence[int] | int]
"""Shapes of arguments, by position; of a tensor without dims that holds a size, its number."""
Shapes = Mapping[str, Given]
"""By function, what it is called with."""
NO_SHAPES: Shapes = MappingProxyType({})

_OUTER = re.compile(r"^\s*util\.(?:func \w+ @([\w$.\"-]+)|initializer\b)")
_DIM = re.compile(r"^\s*(%[\w-]+) = hal\.buffer_view\.dim<%arg(\d+) : .*>\[(\d+)\]")
_FUNCTION = re.compile(r"^\s*(%[\w-]+) = hal\.executable\.lookup\.function .*::@([\w$.\"-]+)\)")
_DISPATCH = re.compile(
    r"hal\.command_buffer\.dispatch<.*?\[(%[\w-]+)\] workgroups\(\[([^\]]*)\]\)"
    r"(?: constants\(\[([^\]]*)\]\))?"
)
_BINDING = re.compile(r"^\s*\(%[\w-]+ : [^)]*\)\[(%[\w-]+), (%[\w-]+)\],?")
_FILL = re.compile(
    r"hal\.command_buffer\.(fill|update)_buffer<.*target\(.*?\)\[(%[\w-]+), (%[\w-]+)\]"
)
_COPY = re.compile(r"hal\.command_buffer\.copy_buffer<.*length\((%[\w-]+)\)")
_BUFFER = re.compile(r"^\s*(%[\w-]+) = hal\.buffer_view\.buffer<%arg(\d+) :")
_STAGED = re.compile(r"hal\.device\.queue\.copy<.*source\((%[\w-]+) .*target\((%[\w-]+) ")
_NUMBER = re.compile(r"^\s*(%[\w-]+) = hal\.buffer\.load<(%[\w-]+) :")
_QUEUED = re.compile(r"hal\.device\.queue\.(fill|copy|update)<.*length\((%[\w-]+)\)")
_ALLOCATED = re.compile(r"^\s*(%[\w-]+) = hal\.device\.queue\.alloca<.*!hal\.buffer\{(%[\w-]+)\}")
_FREED = re.compile(r"hal\.device\.queue\.dealloca<.*buffer\((%[\w-]+) :")
_CALL = re.compile(r"util\.call @([\w$.\"-]+)\(")
_STORE = re.compile(r"util\.global\.store .*, @([\w$.\"-]+) : !hal\.command_buffer")
_LOAD = re.compile(r"util\.global\.load (?:immutable )?@([\w$.\"-]+) : !hal\.command_buffer")
_LABEL = re.compile(r"^\s*(\^bb\d+)(?:\((.*)\))?:")
_BRANCH = re.compile(r"^\s*cf\.(br|cond_br) (?:(%[\w-]+), )?(.*)$")
_GOAL = re.compile(r"(\^bb\d+)(?:\(([^)]*)\))?")
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
    constants: tuple[int | None, ...] = ()
    """Numbers of 32 bits that a kernel gets beside its buffers."""


@dataclass
class _Function:
    commands: list[Command] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    stores: list[str] = field(default_factory=list)
    buffers: list[tuple[str, int | None]] = field(default_factory=list)
    """What is allocated and freed, in order: (buffer, bytes), with 0 where it is freed."""
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


def read_program(lines: Iterable[str], shapes: Shapes = NO_SHAPES) -> Program:
    """Read a module; commands that run when it is loaded are left out.

    ``shapes``: of the arguments that functions are called with, where their types leave sizes open.
    """
    functions, initializers = _read(lines, shapes)
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


def _read(
    lines: Iterable[str], shapes: Shapes
) -> tuple[dict[str, _Function], list[_Function]]:  # fmt: skip
    functions: dict[str, _Function] = {}
    initializers: list[_Function] = []
    for name, body in _bodies(lines):
        found = _Walk(shapes.get(name.removesuffix("$async"), {})).through(body)
        if name:
            functions[name] = found
        else:
            initializers.append(found)
    return functions, initializers


def _bodies(lines: Iterable[str]) -> Iterator[tuple[str, list[str]]]:
    """The name and lines of each function; an initializer has none."""
    name, body, inside = "", list[str](), False
    for line in joined(full[:_LONGEST].rstrip("\n") for full in lines):
        outer = _OUTER.match(line)
        if not outer:
            body.append(line)
            continue
        if inside:
            yield name, body
        name, body, inside = (outer[1] or "").strip('"'), [], True
    if inside:
        yield name, body


class _Walk:
    """One function, block by block, each once: on the way that its conditions say, where known."""

    def __init__(self, given: Given) -> None:
        self._shapes = {i: one for i, one in given.items() if not isinstance(one, int)}
        self._numbers = {i: one for i, one in given.items() if isinstance(one, int)}
        self._values: Values = {}
        self._found = _Function()
        self._buffers: dict[str, int] = {}
        """The arguments that buffers are, or copies of."""
        self._staged: dict[str, Command] = {}
        """What copied an argument to where the host reads it."""
        self._pending: tuple[str, tuple[int | None, ...], list[int | None], str] | None = None

    def through(self, body: Sequence[str]) -> _Function:
        """What the function does."""
        blocks, arguments = _blocks(body)
        left, seen = ["^bb0"], set[str]()
        while left:
            name = left.pop()
            goals = _goals(blocks[name])
            if name in seen:  # a loop: on behind it
                left += [goal for goal, _ in goals if goal not in seen]
                continue
            seen.add(name)
            for line in blocks[name]:
                self._take(line)
            self._take("")
            for goal, values in goals:
                self._hand(arguments.get(goal, ()), values)
            left += self._following(blocks[name], [goal for goal, _ in goals])
        return self._found

    def _hand(self, arguments: Sequence[str], values: Sequence[str]) -> None:
        for argument, value in zip(arguments, values, strict=False):
            if value in self._values:
                self._values.setdefault(argument, self._values[value])

    def _following(self, block: Sequence[str], goals: Sequence[str]) -> Sequence[str]:
        """Where the block goes on to: where both are possible, to both, the first one first."""
        branch = _BRANCH.match(block[-1]) if block else None
        condition = None if branch is None or not branch[2] else self._values.get(branch[2])
        if condition is None:
            return goals[::-1]
        return goals[:1] if condition else goals[1:]

    def _take(self, line: str) -> None:
        """Take in one line; the bindings of a dispatch follow it."""
        if self._pending is not None:
            kernel, grid, sizes, constants = self._pending
            bound = _BINDING.match(line)
            if bound:
                sizes.append(self._values.get(bound[2]))
                return
            self._found.commands.append(
                Command(kernel, grid, tuple(sizes), constants=self._known(constants))
            )
            self._pending = None
        now, values = self._found, self._values
        take_integer(line, values)
        dim, looked_up = _DIM.match(line), _FUNCTION.match(line)
        if dim and int(dim[2]) in self._shapes:
            values[dim[1]] = self._shapes[int(dim[2])][int(dim[3])]
        elif looked_up:
            now.kernels[looked_up[1]] = looked_up[2].strip('"')
        allocated, freed = _ALLOCATED.match(line), _FREED.search(line)
        if allocated:
            now.buffers.append((allocated[1], values.get(allocated[2])))
        elif freed:
            now.buffers.append((freed[1], 0))
        dispatched = _DISPATCH.search(line)
        if dispatched:
            grid = self._known(dispatched[2])
            self._pending = now.kernels.get(dispatched[1], ""), grid, [], dispatched[3] or ""
            return
        self._transfer(line)
        for pattern, found in ((_CALL, now.calls), (_LOAD, now.loads), (_STORE, now.stores)):
            matched = pattern.search(line)
            if matched:
                found.append(matched[1].strip('"'))

    def _transfer(self, line: str) -> None:
        filled, copied, queued = _FILL.search(line), _COPY.search(line), _QUEUED.search(line)
        if filled:
            self._found.commands.append(Command("", (), self._known(filled[3]), reads=False))
        elif copied:
            self._found.commands.append(Command("", (), self._known(copied[1])))
        elif queued:
            made = Command("", (), self._known(queued[2]), queued[1] == "copy")
            self._found.commands.append(made)
            staged = _STAGED.search(line)
            if staged and staged[1] in self._buffers:
                self._buffers[staged[2]] = self._buffers[staged[1]]
                self._staged[staged[2]] = made
        self._passed(line)

    def _passed(self, line: str) -> None:
        """A size that a caller passes as a tensor: the host reads it from a copy."""
        given, read = _BUFFER.match(line), _NUMBER.match(line)
        if given and int(given[2]) in self._numbers:
            self._buffers[given[1]] = int(given[2])
        elif read and read[2] in self._staged:
            self._values[read[1]] = self._numbers[self._buffers[read[2]]]
            self._found.commands.remove(self._staged[read[2]])

    def _known(self, names: str) -> tuple[int | None, ...]:
        return tuple(self._values.get(n.strip()) for n in names.split(",") if n.strip())


def _blocks(body: Sequence[str]) -> tuple[dict[str, list[str]], dict[str, tuple[str, ...]]]:
    """The lines of each block, and the names of its arguments."""
    blocks: dict[str, list[str]] = {"^bb0": []}
    arguments: dict[str, tuple[str, ...]] = {}
    now = blocks["^bb0"]
    for line in body:
        label = _LABEL.match(line)
        if label:
            now = blocks.setdefault(label[1], [])
            arguments[label[1]] = tuple(re.findall(r"%[\w-]+", label[2] or ""))
        else:
            now.append(line)
    for name, block in blocks.items():  # what stands behind a branch is another block's
        ends = [i for i, line in enumerate(block) if _BRANCH.match(line)]
        blocks[name] = block[: ends[0] + 1] if ends else block
    return blocks, arguments


def _goals(block: Sequence[str]) -> list[tuple[str, tuple[str, ...]]]:
    branch = _BRANCH.match(block[-1]) if block else None
    if branch is None:
        return []
    found = []
    for goal, handed in _GOAL.findall(branch[3]):
        names = tuple(re.findall(r"%[\w-]+", handed.partition(" : ")[0]))
        found.append((goal, names))
    return found
