"""Integers that MLIR text computes, line by line, from those that are known beforehand.

Sizes are all that is asked for: offsets, lengths of buffers, numbers of workgroups, and conditions
on them. A value that follows from anything else is not known.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

Values = dict[str, int]
"""By SSA name, of a value that is known; a condition is 0 or 1."""

_OP = re.compile(r"^\s*(%[\w-]+)(?::\d+)? = ([\w.]+)\b(.*)$")
_NAME = re.compile(r"%[\w-]+(?:#\d+)?")
_CONSTANT = re.compile(r"\s*(-?\d+|true|false)\b(?!\.)")
_BITS = re.compile(r"to i(\d+)")
_WORDS = {"true": 1, "false": 0}


def _quotient(a: int, b: int) -> int | None:
    return None if b == 0 else abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _remainder(a: int, b: int) -> int | None:
    quotient = _quotient(a, b)
    return None if quotient is None else a - quotient * b


_BINARY: dict[str, Callable[[int, int], int | None]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "divui": lambda a, b: a // b if b else None,
    "divsi": _quotient,
    "floordivsi": lambda a, b: a // b if b else None,
    "ceildivui": lambda a, b: -(-a // b) if b else None,
    "ceildivsi": lambda a, b: -(-a // b) if b else None,
    "remui": lambda a, b: a % b if b else None,
    "remsi": _remainder,
    "minsi": min,
    "minui": min,
    "maxsi": max,
    "maxui": max,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "shli": lambda a, b: a << b,
    "shrui": lambda a, b: a >> b,
    "shrsi": lambda a, b: a >> b,
}
_COMPARED: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
_SAME = frozenset((
    "arith.index_cast", "arith.index_castui", "arith.extui", "arith.extsi",
    "iree_tensor_ext.dispatch.workload.ordinal",
))  # fmt: skip


def joined(lines: Iterable[str]) -> Iterator[str]:
    """The lines, each ``util.assume.int`` of several numbers in one."""
    held = ""
    for line in lines:
        if held:
            held += f" {line.strip()}"
        elif line.rstrip().endswith("util.assume.int"):
            held = line.rstrip()
        else:
            yield line
        if held and " : " in line:
            yield held
            held = ""


def take_integer(line: str, values: Values) -> None:
    """Take in a line: what it computes, where that follows from integers that are known."""
    found = _OP.match(line)
    if found is None:
        return
    result, name, rest = found.groups()
    if name == "arith.constant":
        number = _CONSTANT.match(rest)
        if number is not None:
            values[result] = _WORDS[number[1]] if number[1] in _WORDS else int(number[1])
        return
    operands = [values.get(operand) for operand in _NAME.findall(rest)]
    if name == "util.assume.int":
        for place, value in enumerate(operands):
            if value is not None:
                values[result if len(operands) == 1 else f"{result}#{place}"] = value
        return
    value = _value(name, rest, operands)
    if value is not None:
        values[result] = value


def _value(name: str, rest: str, operands: Sequence[int | None]) -> int | None:
    dialect, _, stem = name.partition(".")
    if name == "arith.select" and len(operands) > 2 and operands[0] is not None:
        return operands[1] if operands[0] else operands[2]
    known = [value for value in operands if value is not None]
    if not known or len(known) < len(operands):
        return None
    if name in _SAME:
        return known[0]
    if name == "arith.trunci":
        bits = _BITS.search(rest)
        return None if bits is None else known[0] & ((1 << int(bits[1])) - 1)
    if name == "util.align":
        return -(-known[0] // known[1]) * known[1]
    if name == "arith.cmpi":
        return int(_COMPARED[rest.split(",", maxsplit=1)[0].strip()[-2:]](*known))
    if dialect == "arith" and stem in _BINARY:
        return _BINARY[stem](*known)
    return None
