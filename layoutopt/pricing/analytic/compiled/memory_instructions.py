"""Instructions of LLVM IR that read or write memory: loads, stores, intrinsics of AMDGPU."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from layoutopt.pricing.analytic.compiled.lane_values import Rule, operands_of, typed
from layoutopt.pricing.analytic.compiled.llvm_ir import (
    Instruction,
    UnreadableError,
    size_of,
    split_operands,
    take_type,
)


@dataclass(frozen=True, slots=True)
class MemoryInstruction:
    """An instruction that touches memory: where, how many bytes a lane, in which direction."""

    space: str
    writes: bool
    lane_bytes: int
    parts: tuple[Rule, ...]
    """Summed up they are the address."""
    elements: Rule | None = None
    """Which elements of a lane take part, a condition for each; None where all do."""


_SPACES = {1: "global", 7: "global", 8: "global", 3: "lds", 0: "global"}


def memory_of(instruction: Instruction) -> tuple[MemoryInstruction, ...]:
    """What an instruction touches: a copy reads and writes. Scratch and constant memory do not
    count."""
    opcode, rest = instruction.opcode, instruction.rest
    found: list[MemoryInstruction | None] = []
    if opcode == "load":
        kind, rest = take_type(rest)
        found = [_memory(split_operands(rest.lstrip(", "))[0], size_of(kind), False)]
    elif opcode == "store":
        stored, pointer = split_operands(rest)[:2]
        found = [_memory(pointer, size_of(take_type(stored)[0]), True)]
    elif opcode == "call" and "@llvm." in rest:
        name = rest[rest.index("@llvm.") + 1 : rest.index("(", rest.index("@llvm."))]
        arguments = split_operands(rest[rest.index("(", rest.index("@llvm.")) + 1 :])
        if name.startswith(("llvm.memcpy", "llvm.memmove")):
            length = _length(arguments[2], name)
            found = [_memory(arguments[1], length, False), _memory(arguments[0], length, True)]
        else:
            found = [_intrinsic(name, arguments, rest)]
    return tuple(one for one in found if one is not None)


def _intrinsic(name: str, arguments: list[str], rest: str) -> MemoryInstruction | None:
    if "load.async.to.lds" in name or "load.to.lds" in name or "global.load.lds" in name:
        return _memory(arguments[0], int(arguments[2].split(" ")[-1]), False)
    if "ds.read.tr" in name:
        return _memory(arguments[0], size_of(_last_type(rest)), False)
    if "ptr.buffer.load" in name:
        return _buffer(arguments, size_of(_last_type(rest)), False)
    if "ptr.buffer.store" in name:
        return _buffer(arguments[1:], size_of(take_type(arguments[0])[0]), True)
    if name.startswith("llvm.masked.load"):
        return _masked(arguments[0], arguments[1], size_of(_last_type(rest)), False)
    if name.startswith("llvm.masked.store"):
        stored = size_of(take_type(arguments[0])[0])
        return _masked(arguments[1], arguments[2], stored, True)
    if name.startswith("llvm.memset"):
        return _memory(arguments[0], _length(arguments[2], name), True)
    return None


def _length(argument: str, name: str) -> int:
    """Bytes that a lane fills or copies."""
    text = argument.rsplit(" ", maxsplit=1)[-1]
    if not text.isdecimal():
        raise UnreadableError(f"a call of {name} whose length is not a number")
    return int(text)


def _last_type(rest: str) -> str:
    """The type that a call returns: what stands before the name."""
    before = rest[: rest.index("@llvm.")].rstrip()
    found = re.search(r"(<[^<>]*>|\w+)$", before)
    if found is None:
        raise UnreadableError(f"a call whose type is not known: {rest[:60]}")
    return found[1]


def _memory(pointer: str, lane_bytes: int, writes: bool) -> MemoryInstruction | None:
    kind, read = typed(pointer)
    number = re.search(r"addrspace\((\d+)\)", kind)
    space = _SPACES.get(int(number[1]) if number else 0)
    if space is None:
        return None
    return MemoryInstruction(space, writes, lane_bytes, (read,))


def _masked(pointer: str, mask: str, lane_bytes: int, writes: bool) -> MemoryInstruction | None:
    found = _memory(pointer, lane_bytes, writes)
    return None if found is None else replace(found, elements=typed(mask)[1])


def _buffer(arguments: list[str], lane_bytes: int, writes: bool) -> MemoryInstruction:
    return MemoryInstruction(
        "global", writes, lane_bytes, tuple(typed(a)[1] for a in arguments[:3])
    )


def address_names(instruction: Instruction) -> list[str]:
    """Names of the values that the address of such an instruction may depend on."""
    if instruction.opcode == "store":
        return re.findall(r"%[\w.$-]+", split_operands(instruction.rest)[1])
    return operands_of(instruction)
