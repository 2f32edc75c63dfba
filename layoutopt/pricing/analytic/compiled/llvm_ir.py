"""Read functions of textual LLVM IR: blocks, instructions and their operands.

As far as `iree-compile` dumps it for GPUs (`*.optimized.ll`); see the LLVM Language Reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


class UnreadableError(ValueError):
    """A kernel that this model does not understand; the message says why."""


_FLAGS = frozenset((
    "tail", "musttail", "notail", "nuw", "nsw", "exact", "disjoint", "samesign", "nneg", "volatile",
    "fast", "nnan", "ninf", "nsz", "arcp", "contract", "afn", "reassoc", "inbounds", "nusw",
    "inrange",
))  # fmt: skip
_DEFINE = re.compile(r"^define .*@([\w.$\"-]+)\((.*)$", re.MULTILINE)
_LABEL = re.compile(r"^([\w.$-]+|\"[^\"]+\"):")
_ASSIGN = re.compile(r"^(%[\w.$-]+|%\"[^\"]+\") = (.*)$")
_NAME = re.compile(r"%[\w.$-]+|%\"[^\"]+\"")
_TARGET = re.compile(r"label (%[\w.$-]+|%\"[^\"]+\")")
_SHARED = re.compile(r"^(@[\w.$-]+) = .*addrspace\(3\) global (.*?) (?:undef|poison)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Instruction:
    """One instruction: what it defines (empty for nothing), its opcode, and what follows that."""

    result: str
    opcode: str
    rest: str


@dataclass(frozen=True, slots=True)
class Block:
    """A basic block; the last instruction says where it goes on."""

    name: str
    instructions: tuple[Instruction, ...]

    @property
    def successors(self) -> tuple[str, ...]:
        """Blocks that it goes on to."""
        return tuple(_TARGET.findall(self.instructions[-1].rest))


@dataclass(frozen=True, slots=True)
class Function:
    """A function; the first block is where it starts."""

    name: str
    parameters: tuple[str, ...]
    blocks: dict[str, Block]
    numbers: tuple[str, ...] = ()
    """Those of the parameters that are integers, and no pointers."""


def does_nothing(function: Function) -> bool:
    """Whether a compiler found all of a function needless: it returns, and that is all."""
    instructions = [i for block in function.blocks.values() for i in block.instructions]
    return all(i.opcode == "ret" or "@llvm.assume(" in i.rest for i in instructions)


def parse_functions(text: str) -> dict[str, Function]:
    """All functions that are defined, by name."""
    found = {}
    for match in _DEFINE.finditer(text):
        head, _, rest = text[match.start(2) :].partition("\n")
        body = rest[: rest.index("\n}")]
        name = match[1].strip('"')
        given = dict(_parameters(head))
        numbers = tuple(one for one, kind in given.items() if bits_of(kind))
        found[name] = Function(name, tuple(given), dict(_blocks(body, f"%{len(given)}")), numbers)
    return found


def shared_sizes(text: str) -> dict[str, int]:
    """Bytes of each global in shared memory (LDS), by name with its ``@``."""
    return {name: size_of(kind) for name, kind in _SHARED.findall(text)}


def _parameters(head: str) -> Iterator[tuple[str, str]]:
    """Names and types."""
    depth, start = 0, 0
    for place, letter in enumerate(head):
        depth += letter in "([{<"
        if letter in ")]}>":
            depth -= 1
        if depth < 0 or (depth == 0 and letter == ","):
            one = head[start:place]
            yield from ((name, take_type(one)[0]) for name in _NAME.findall(one)[-1:])
            start = place + 1
        if depth < 0:
            return


def _blocks(body: str, entry: str) -> Iterator[tuple[str, Block]]:
    name, held = entry, list[Instruction]()
    for line in _joined(body):
        label = _LABEL.match(line)
        if label:
            if held:
                yield name, Block(name, tuple(held))
            name, held = f"%{label[1]}", []
        elif line.startswith("  ") and line.strip():
            held.append(_instruction(line.strip()))
    yield name, Block(name, tuple(held))


def _joined(body: str) -> Iterator[str]:
    """Lines, with those of one `switch` put together."""
    held = ""
    for line in body.splitlines():
        if held:
            held += f" {line.strip()}"
            if "]" in line:
                yield held
                held = ""
        elif line.lstrip().startswith("switch ") and "]" not in line:
            held = line
        else:
            yield line


def _instruction(line: str) -> Instruction:
    assigned = _ASSIGN.match(line)
    result, rest = (assigned[1], assigned[2]) if assigned else ("", line)
    words = rest.split(" ")
    opcode, *words = words
    while opcode in _FLAGS:
        opcode, *words = words
    while words and words[0] in _FLAGS:
        words.pop(0)
    return Instruction(result, opcode, " ".join(words))


_BITS = {"half": 16, "bfloat": 16, "float": 32, "double": 64, "ptr": 64}
_ELEMENT = re.compile(r"(?:i(\d+)|half|bfloat|float|double|ptr)\b")


def take_type(text: str) -> tuple[str, str]:
    """A type at the beginning of a text, and what follows it without the blank."""
    text = text.lstrip()
    if text[:1] in "<[{":
        depth = 0
        for place, letter in enumerate(text):
            depth += letter in "<[{("
            depth -= letter in ">]})"
            if depth == 0:
                return text[: place + 1], text[place + 1 :].lstrip()
    end = re.match(r"ptr addrspace\(\d+\)|[\w.%]+", text)
    if end is None:
        raise UnreadableError(f"expected a type of LLVM IR, but got '{text[:40]}'")
    return end[0], text[end.end() :].lstrip()


def size_of(kind: str) -> int:
    """Bytes of a value of a type; of a vector or array, of all of its elements."""
    many = re.match(r"[<\[](\d+) x (.*)[>\]]$", kind)
    if many:
        inner = many[2]
        bits = re.fullmatch(r"i(\d+)", inner)
        if bits and int(bits[1]) < 8:
            return -(-int(many[1]) * int(bits[1]) // 8)
        return int(many[1]) * size_of(inner)
    if kind.startswith("{"):
        total, rest = 0, kind[1:-1].strip()
        while rest:
            member, rest = take_type(rest)
            total += size_of(member)
            rest = rest.lstrip(", ")
        return total
    found = _ELEMENT.match(kind)
    if found is None:
        raise UnreadableError(f"expected a type of LLVM IR with a size, but got '{kind}'")
    return -(-int(found[1] or _BITS[found[0]]) // 8)


def lanes_of(kind: str) -> int:
    """Elements of a vector type; 0 of anything else."""
    many = re.match(r"<(\d+) x ", kind)
    return int(many[1]) if many else 0


def bits_of(kind: str) -> int:
    """Bits of an integer or of an element of a vector of them; 0 of anything else."""
    found = re.fullmatch(r"(?:<\d+ x )?i(\d+)>?", kind)
    return int(found[1]) if found else 0


def is_pointer(kind: str) -> bool:
    """Whether a type is a pointer."""
    return kind.startswith("ptr")


def split_operands(text: str) -> list[str]:
    """What stands between commas that are in no brackets."""
    parts, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += letter in "([{<"
        depth -= letter in ")]}>"
        if depth < 0:
            parts.append(text[start:place])
            return [part.strip() for part in parts]
        if letter == "," and depth == 0:
            parts.append(text[start:place])
            start = place + 1
    parts.append(text[start:])
    return [part.strip() for part in parts if part.strip()]
