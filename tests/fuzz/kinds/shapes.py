"""Random shapes, contents and maps that the kinds of steps share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from layoutopt.ir.types import Array
from tests.fuzz.draw import Draw
from tests.fuzz.value import EPSILON, Value
from tests.fuzz.writer import ImpossibleError, Writer

ELEMENTS = ("f32",) * 11 + ("f16", "f16", "bf16", "bf16", "i8", "i8", "i32", "i32", "i64", "f64")


def element(draw: Draw) -> str:
    """An element type, f32 half of the time."""
    return draw.pick(ELEMENTS)


def shape(draw: Draw, rank: int, most: int = 6) -> tuple[int, ...]:
    """A shape; one tensor in fifty is empty."""
    sizes = [draw.between(1, most) for _ in range(rank)]
    if rank and draw.one_in(50):
        sizes[draw.below(rank)] = 0
    return tuple(sizes)


def whole_numbers(draw: Draw, shape: Sequence[int], low: int = -2, high: int = 2) -> Array:
    """Contents of a constant: a splat, or random ones."""
    if draw.one_in(3):
        return np.full(shape, draw.pick((1, 0, -1, 2)) if low < 0 else low)
    seed = draw.below(1000)
    return np.random.default_rng(seed).integers(low, high + 1, tuple(shape))


def fresh(writer: Writer, draw: Draw, shape: Sequence[int], kind: str) -> Value:
    """A new argument, or a new constant."""
    if draw.one_in(2):
        return writer.constant(whole_numbers(draw, shape, 0 if kind == "i1" else -2), kind)
    return writer.argument(shape, kind)


def given(writer: Writer, draw: Draw, rank: range, kinds: Sequence[str] = ()) -> Value:
    """A value of some rank to work on: one that is there, else a new argument."""

    def fits(value: Value) -> bool:
        return len(value.shape) in rank and (not kinds or value.element in kinds)

    found = None if draw.one_in(10) else writer.operand(draw, fits)
    if found is not None:
        return found
    kind = draw.pick(kinds) if kinds else element(draw)
    return writer.argument(shape(draw, draw.pick(list(rank))), kind)


def of_type(writer: Writer, draw: Draw, shape: Sequence[int], kind: str) -> Value:
    """Another operand of this very type: one that is there, an argument or a constant."""
    wanted = tuple(shape)

    def fits(value: Value) -> bool:
        return value.shape == wanted and value.element == kind

    found = writer.operand(draw, fits) if draw.one_in(2) else None
    return found or fresh(writer, draw, shape, kind)


def start(
    writer: Writer, draw: Draw, shape: Sequence[int], kind: str, neutral: float = 0.0
) -> tuple[str, Value]:
    """What a reduction starts from: its name, and what is known of its numbers."""
    way = draw.pick(("neutral", "neutral", "neutral", "neutral", "number", "tensor", "constant"))
    if way == "neutral":
        bound = abs(neutral) if np.isfinite(neutral) else 0.0
        name = writer.fill(neutral, shape, kind) if np.isfinite(neutral) else ""
        if not name:
            name = infinite(writer, neutral, shape, kind)
        return name, Value(name, tuple(shape), kind, bound)
    if way == "number":
        name = writer.fill(3, shape, kind)
        return name, Value(name, tuple(shape), kind, 3.0)
    if way == "constant":
        value = writer.constant(whole_numbers(draw, shape), kind)
        writer.beyond_iree = True
        return value.name, value
    value = of_type(writer, draw, shape, kind)
    writer.beyond_iree |= writer.is_constant(value)
    return writer.read(value), value


def infinite(writer: Writer, sign: float, shape: Sequence[int], kind: str) -> str:
    """A fill with an infinity, or with the least or largest integer."""
    if kind in EPSILON:
        words = {"f64": "7FF0000000000000", "f32": "7F800000", "f16": "7C00", "bf16": "7F80"}
        bits = int(words[kind], 16) | (1 << (len(words[kind]) * 4 - 1) if sign < 0 else 0)
        text = f"0x{bits:X}"
    else:
        high = 2 ** (int(kind[1:]) - 1)
        text = str(-high if sign < 0 else high - 1)
    value = writer.op(f"arith.constant {text} : {kind}")
    into = writer.empty(shape, kind)
    tensor = Value("", tuple(shape), kind, 0.0).type
    return writer.op(f"linalg.fill ins({value} : {kind}) outs({into} : {tensor}) -> {tensor}")


def dims(numbers: Sequence[int]) -> str:
    """A plain indexing map: ``d0, d2``."""
    return ", ".join(f"d{d}" for d in numbers)


def need(found: bool, why: str) -> None:
    """Raise ImpossibleError where a condition does not hold."""
    if not found:
        raise ImpossibleError(why)


def widened(draw: Draw, kind: str) -> str:
    """The type in which products of ``kind`` are summed: itself, or a wider one."""
    wider = {"f16": ("f16", "f32"), "bf16": ("f32", "bf16"), "i8": ("i32", "i8"), "f32": ("f32",)}
    return draw.pick(wider.get(kind, (kind,)))


def multiply_add(
    lhs: str, rhs: str, out: str, swapped: bool = False
) -> tuple[list[str], list[str]]:
    """The body ``out + lhs * rhs`` with widening casts: its lines and its block arguments."""
    floating = out in EPSILON
    lines, names = [], []
    for name, kind in (("%x", lhs), ("%y", rhs)):
        if kind != out:
            cast = "extf" if floating else "extsi"
            lines.append(f"{name}w = arith.{cast} {name} : {kind} to {out}")
        names.append(name if kind == out else f"{name}w")
    suffix = "f" if floating else "i"
    a, b = reversed(names) if swapped else names
    order = "%p, %o" if swapped else "%o, %p"
    lines.append(f"%p = arith.mul{suffix} {a}, {b} : {out}")
    lines.append(f"%s = arith.add{suffix} {order} : {out}")
    lines.append(f"linalg.yield %s : {out}")
    return lines, [f"%x: {lhs}", f"%y: {rhs}", f"%o: {out}"]
