"""What integer instructions of LLVM IR compute, for all lanes of some workgroups at once.

A value is an array over (workgroup, lane), or one that broadcasts to it; a tuple of those for a
vector; None where it is not known: floats, and what was loaded from memory. Pointers are integers,
each buffer in an address range of its own.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from layoutopt.pricing.analytic.compiled.llvm_ir import (
    Instruction,
    bits_of,
    is_pointer,
    lanes_of,
    size_of,
    split_operands,
    take_type,
)

Lanes = NDArray[np.int64]
Value = Any
"""An array over (workgroup, lane), a tuple of them, or None."""
Env = dict[str, Value]
Rule = Callable[[Mapping[str, Value]], Value]

_IMPLICIT = np.int64(1 << 60)
"""Where arguments lie that the runtime adds to those of a kernel."""
_COUNTS = {0: "workgroups.x", 4: "workgroups.y", 8: "workgroups.z"}
"""By place among them: LLVM AMDGPU user guide, hidden arguments of code object version 5."""
BUFFER_SHIFT = 44
"""Bits of an offset within one buffer; above them stands the buffer's number."""
_NUMBER = re.compile(r"-?\d+$")
_STEPS = re.compile(r"llvm\.stepvector\.v(\d+)i")
_CALL = re.compile(r"@(llvm\.[\w.]+|[\w.$]+)\((.*)\)")
_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
}
_UNSIGNED = frozenset(("udiv", "urem", "lshr"))
_COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "eq": operator.eq,
    "ne": operator.ne,
    "gt": operator.gt,
    "ge": operator.ge,
    "lt": operator.lt,
    "le": operator.le,
}


def rule_of(instruction: Instruction) -> Rule | None:
    """How to compute the result from other values; None where it is not an integer or pointer."""
    opcode, rest = instruction.opcode, instruction.rest
    if opcode in _BINARY or opcode in ("shl", "ashr", "sdiv", "srem", *_UNSIGNED):
        return _binary(opcode, rest)
    if opcode == "icmp":
        return _compare(rest)
    if opcode in ("zext", "sext", "trunc", "bitcast", "ptrtoint", "inttoptr", "addrspacecast"):
        return _cast(opcode, rest)
    if opcode == "getelementptr":
        return _element_pointer(rest)
    if opcode == "select":
        return _select(rest)
    if opcode == "load":
        return _hidden(rest)
    if opcode == "freeze":
        _, operand = take_type(rest)
        return _reader(operand)
    if opcode in ("extractelement", "insertelement", "shufflevector"):
        return _vector(opcode, rest)
    return _call(rest) if opcode == "call" else None


def operands_of(instruction: Instruction) -> list[str]:
    """Names of the values that it reads."""
    return re.findall(r"%[\w.$-]+|@[\w.$-]+", instruction.rest)


def typed(text: str) -> tuple[str, Rule]:
    """The type of an operand, and its value."""
    kind, rest = take_type(text)
    value = rest.split(" ")[-1] if not rest.startswith(("<", "splat", "getelement")) else rest
    return kind, _reader(value, kind)


def _reader(text: str, kind: str = "") -> Rule:
    if text.startswith(("%", "@")):
        return lambda env: env.get(text)
    value = _constant(text, kind)
    return lambda env: value


def _constant(text: str, kind: str) -> Value:
    count = lanes_of(kind)
    if count and text in ("zeroinitializer", "poison", "undef"):
        return tuple(np.int64(0) for _ in range(count))
    splat = re.match(r"splat \(\w+ (\S+)\)", text)
    if splat:
        return tuple(_scalar(splat[1]) for _ in range(count))
    if text.startswith("<"):
        return tuple(_scalar(part.split(" ")[-1]) for part in split_operands(text[1:-1]))
    return _scalar(text)


def _scalar(text: str) -> Any:
    if text in ("true", "false"):
        return np.bool_(text == "true")
    if text in ("null", "poison", "undef", "zeroinitializer"):
        return np.int64(0)
    return np.int64(int(text)) if _NUMBER.match(text) else None


def _wrapped(value: Any, bits: int) -> Any:
    """A number as a signed one of so many bits."""
    if bits >= 64 or value is None:
        return value
    if bits == 1:
        return (value & 1).astype(bool) if value.dtype != bool else value
    half = np.int64(1 << (bits - 1))
    return ((value + half) & np.int64((1 << bits) - 1)) - half


def _raw(value: Any, bits: int) -> Any:
    """A number as an unsigned one of so many bits."""
    if bits >= 64:
        return value
    if value.dtype == bool:
        return value.astype(np.int64)
    return value & np.int64((1 << bits) - 1)


def _each(function: Callable[..., Any], *values: Any) -> Any:
    """Apply it to numbers, or to the elements of vectors."""
    if any(value is None for value in values):
        return None
    if any(isinstance(value, tuple) for value in values):
        count = max(len(v) for v in values if isinstance(v, tuple))
        rows = [v if isinstance(v, tuple) else (v,) * count for v in values]
        return tuple(_each(function, *row) for row in zip(*rows, strict=True))
    return function(*values)


def _binary(opcode: str, rest: str) -> Rule | None:
    kind, rest = take_type(rest)
    bits = bits_of(kind)
    if not bits:
        return None
    left, right = (_reader(part, kind) for part in split_operands(rest))

    def computed(a: Any, b: Any) -> Any:
        if opcode in _BINARY:
            if bits == 1:
                return _BINARY["xor" if opcode in ("add", "sub") else opcode](a, b)
            return _wrapped(_BINARY[opcode](a, b), bits)
        if opcode == "shl":
            return _wrapped(np.left_shift(a, np.clip(b, 0, 63)), bits)
        if opcode == "ashr":
            return np.right_shift(a, np.clip(b, 0, 63))
        if opcode == "lshr":
            return _wrapped(np.right_shift(_raw(a, bits), np.clip(_raw(b, bits), 0, 63)), bits)
        if opcode in ("udiv", "urem"):
            a, b = _raw(a, bits), np.maximum(_raw(b, bits), 1)
            return _wrapped(a // b if opcode == "udiv" else a % b, bits)
        b = np.where(b == 0, 1, b)
        quotient = np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))
        return quotient if opcode == "sdiv" else a - quotient * b

    return lambda env: _each(computed, left(env), right(env))


def _compare(rest: str) -> Rule | None:
    predicate, rest = rest.split(" ", 1)
    if predicate == "samesign":
        predicate, rest = rest.split(" ", 1)
    kind, rest = take_type(rest)
    element = kind[kind.index(" x ") + 3 : -1] if lanes_of(kind) else kind
    bits = 64 if is_pointer(element) else bits_of(element)
    left, right = (_reader(part, kind) for part in split_operands(rest))
    compared = _COMPARED[predicate[-2:]]
    unsigned = predicate.startswith("u")

    def computed(a: Any, b: Any) -> Any:
        if unsigned or bits == 1:
            a, b = _raw(a, bits), _raw(b, bits)
        return compared(a, b)

    return lambda env: _each(computed, left(env), right(env))


def difference_of(rest: str) -> Rule | None:
    """Left side less right side of a comparison, of scalars."""
    rest = rest.split(" ", 1)[1] if rest.startswith("samesign") else rest
    _, rest = rest.split(" ", 1)
    kind, rest = take_type(rest)
    if lanes_of(kind):
        return None
    left, right = (_reader(part, kind) for part in split_operands(rest))
    return lambda env: _each(operator.sub, left(env), right(env))


def _cast(opcode: str, rest: str) -> Rule | None:
    kind, rest = take_type(rest)
    operand, _, goal = rest.rpartition(" to ")
    before, after = bits_of(kind), bits_of(goal)
    read = _reader(operand, kind)
    if opcode == "bitcast":
        same = kind == goal or (is_pointer(kind) and is_pointer(goal))
        return read if same else None
    if opcode in ("ptrtoint", "inttoptr", "addrspacecast"):
        return read
    if opcode == "zext":
        return lambda env: _each(lambda v: _raw(v, before), read(env))
    if opcode == "sext":
        if before == 1:
            return lambda env: _each(lambda v: -v.astype(np.int64), read(env))
        return read
    return lambda env: _each(lambda v: _wrapped(v, after), read(env))


def _hidden(rest: str) -> Rule | None:
    """A number that the runtime hands to a kernel; what lies in other memory is not known."""
    kind, rest = take_type(rest)
    pointer, address = typed(split_operands(rest.lstrip(", "))[0])
    if kind != "i32" or pointer != "ptr addrspace(4)":
        return None

    def computed(env: Mapping[str, Value]) -> Value:
        place = address(env)
        known = place is not None and np.ndim(place) == 0 and int(place - _IMPLICIT) in _COUNTS
        return env.get(_COUNTS[int(place - _IMPLICIT)]) if known else None

    return computed


def _element_pointer(rest: str) -> Rule | None:
    element, rest = take_type(rest)
    base, *indices = split_operands(rest.lstrip(", "))
    kind, start = typed(base)
    if not is_pointer(kind) or not indices:
        return None
    steps: list[tuple[int, Rule]] = []
    for place, index in enumerate(indices):
        if place:
            many = re.match(r"[<\[]\d+ x (.*)[>\]]$", element)
            if many is None:
                return None
            element = many[1]
        steps.append((size_of(element), typed(index)[1]))

    def computed(env: Mapping[str, Value]) -> Value:
        found: Any = start(env)
        for size, index in steps:
            found = _each(lambda a, b, s=size: a + b * np.int64(s), found, index(env))
        return found

    return computed


def _select(rest: str) -> Rule | None:
    condition, first, second = (typed(part) for part in split_operands(rest))
    if not bits_of(first[0]) and not is_pointer(first[0]):
        return None

    def computed(env: Mapping[str, Value]) -> Value:
        found: Value = _each(np.where, condition[1](env), first[1](env), second[1](env))
        return found

    return computed


def _vector(opcode: str, rest: str) -> Rule | None:
    parts = [typed(part) for part in split_operands(rest)]
    if not bits_of(parts[0][0]):
        return None
    reads = [read for _, read in parts]

    def computed(env: Mapping[str, Value]) -> Value:
        first, second, *more = (read(env) for read in reads)
        if not isinstance(first, tuple) or second is None:
            return None
        if opcode == "extractelement":
            return first[int(second)] if np.ndim(second) == 0 else None
        if opcode == "insertelement":
            if np.ndim(more[0]) != 0:
                return None
            place = int(more[0])
            return (*first[:place], second, *first[place + 1 :])
        joined = (*first, *second)
        return tuple(joined[int(place)] for place in more[0])

    return computed


_INTRINSICS: dict[str, Callable[..., Any]] = {
    "llvm.umin": lambda bits, a, b: _wrapped(np.minimum(_raw(a, bits), _raw(b, bits)), bits),
    "llvm.umax": lambda bits, a, b: _wrapped(np.maximum(_raw(a, bits), _raw(b, bits)), bits),
    "llvm.smin": lambda bits, a, b: np.minimum(a, b),
    "llvm.smax": lambda bits, a, b: np.maximum(a, b),
    "llvm.abs": lambda bits, a, *_: np.abs(a),
    "llvm.amdgcn.readfirstlane": lambda bits, a: a,
    "llvm.usub.sat": lambda bits, a, b: _wrapped(
        np.maximum(_raw(a, bits) - _raw(b, bits), 0), bits
    ),
}


def _call(rest: str) -> Rule | None:
    found = _CALL.search(rest)
    if found is None:
        return None
    name, arguments = found[1], found[2]
    if name.startswith(
        ("llvm.amdgcn.workitem.id", "llvm.amdgcn.workgroup.id", "llvm.amdgcn.mbcnt")
    ):
        return _lane_number(name, arguments)
    steps = _STEPS.match(name)
    if steps:
        return lambda env: tuple(np.int64(place) for place in range(int(steps[1])))
    if name.startswith("llvm.amdgcn.implicitarg.ptr"):
        return lambda env: _IMPLICIT
    if name.startswith("llvm.amdgcn.make.buffer.rsrc"):
        return typed(split_operands(arguments)[0])[1]
    stem = next((stem for stem in _INTRINSICS if name.startswith(f"{stem}.")), None)
    if stem is None:
        return None
    parts = [typed(part) for part in split_operands(arguments)]
    bits = bits_of(parts[0][0])
    reads = [read for _, read in parts]
    if not bits:
        return None
    function = _INTRINSICS[stem]
    return lambda env: _each(lambda *values: function(bits, *values), *(r(env) for r in reads))


def _lane_number(name: str, arguments: str) -> Rule:
    if ".mbcnt." in name:
        last = typed(split_operands(arguments)[-1])[1]
        if name.endswith(".lo"):
            return lambda env: env["lane"]
        return last  # of `.hi` that counts on from `.lo`
    return lambda env: env[name.removeprefix("llvm.amdgcn.")]
