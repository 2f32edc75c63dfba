"""Damage to files: to bytes, lines, the numbers in a text, the structure of JSON and TOML."""

from __future__ import annotations

import copy
import json
import random
import re
from collections.abc import Callable

Value = object
Mutation = Callable[[bytes, random.Random], bytes]
_NUMBER = re.compile(rb"(?<![\w.])\d+(?![\w.])")
_SIZE = re.compile(rb"(?<=[<x])\d+(?=x)|(?<=[\[ ,=])\d+(?=[\],;} ])")
_WORD = re.compile(rb"[A-Za-z_][\w.]*")
_NUMBERS = (0, 1, 2, 3, 7, 64, -1, 2**31, 2**63 - 1, -(2**63), 10**30)
_TYPES = (
    b"f32", b"f64", b"f16", b"bf16", b"i1", b"i4", b"i8", b"i32", b"i64", b"index", b"none",
    b"complex<f32>", b"f8E4M3FN", b"vector<4xf32>", b"!quant.uniform<i8:f32, 2.0>",
)  # fmt: skip
_VALUES: tuple[Value, ...] = (
    None, True, False, 0, -1, 1, 2**31, 10**30, -0.5, 1e308, float("nan"), float("inf"),
    "", "x", "NaN", "\ud800", [], {}, [1], [[]], [None], {"x": 1}, "a" * 4096,
)  # fmt: skip


def bytes_damaged(data: bytes, chance: random.Random) -> bytes:
    """A few bytes are changed, lost, doubled or new; or the file is cut off."""
    found = bytearray(data)
    for _ in range(chance.randint(1, 3)):
        at = chance.randrange(len(found) + 1)
        size = chance.choice((1, 1, 2, 8, 64))
        match chance.randrange(6):
            case 0 | 1:
                found[at : at + 1] = bytes([chance.randrange(256)])
            case 2:
                if found:
                    found[at % len(found)] ^= 1 << chance.randrange(8)
            case 3:
                del found[at : at + size]
            case 4:
                found[at:at] = found[at : at + size]
            case 5:
                del found[at if chance.random() < 0.3 else len(found) :]
    return bytes(found)


def lines_damaged(data: bytes, chance: random.Random) -> bytes:
    """A line is lost, doubled, moved or cut."""
    lines = data.splitlines(keepends=True) or [b""]
    at = chance.randrange(len(lines))
    match chance.randrange(4):
        case 0:
            del lines[at]
        case 1:
            lines.insert(at, lines[at])
        case 2:
            lines.insert(chance.randrange(len(lines)), lines.pop(at))
        case 3:
            lines[at] = lines[at][: chance.randrange(len(lines[at]) + 1)]
    return b"".join(lines)


def numbers_replaced(data: bytes, chance: random.Random) -> bytes:
    """A number is another one; often all of its kind are, so that the text still fits together."""
    found = list((_SIZE if chance.random() < 0.7 else _NUMBER).finditer(data))
    if not found:
        return lines_damaged(data, chance)
    old = chance.choice(found)
    new = str(chance.choice(_NUMBERS)).encode()
    if chance.random() < 0.6:
        return re.sub(rb"(?<![\w.])%s(?![\w.])|(?<=[<x])%s(?=x)" % (old[0], old[0]), new, data)
    return data[: old.start()] + new + data[old.end() :]


def types_swapped(data: bytes, chance: random.Random) -> bytes:
    """An element type is another one everywhere, or two words change places."""
    if chance.random() < 0.6:
        old, new = chance.choice(_TYPES[:10]), chance.choice(_TYPES)
        return re.sub(rb"(?<=[x<: ])%s\b" % old, new, data)
    words = list(_WORD.finditer(data))
    if len(words) < 2:
        return lines_damaged(data, chance)
    a, b = sorted(chance.sample(words, 2), key=lambda m: m.start())
    return data[: a.start()] + b[0] + data[a.end() : b.start()] + a[0] + data[b.end() :]


def json_damaged(data: bytes, chance: random.Random) -> bytes:
    """A key or an item is lost, doubled, or holds something of another kind or size."""
    lines = data.splitlines() if data.count(b"\n{") > 1 else [data]
    at = chance.randrange(len(lines))
    try:
        table = json.loads(lines[at])
    except ValueError:
        return bytes_damaged(data, chance)
    _damage(table, chance)
    lines[at] = json.dumps(table).encode()
    return b"\n".join(lines)


def toml_damaged(data: bytes, chance: random.Random) -> bytes:
    """A key is lost, renamed, doubled, or holds something else."""
    lines = data.splitlines(keepends=True)
    keys = [i for i, line in enumerate(lines) if re.match(rb'[\w"+-]+ *=', line)]
    at = chance.choice(keys)
    key, _, value = lines[at].partition(b"=")
    match chance.randrange(6):
        case 0:
            del lines[at]
        case 1:
            lines[at] = key.strip() + b"_x =" + value
        case 2:
            lines[at] = chance.choice(lines)
        case _:
            new = chance.choice(
                (b"0", b"-1", b"1e400", b"nan", b"-inf", b"true", b'""', b'"x"', b"[]", b"{}",
                 b"[1, 2]", b"[[0, 0, 0]]", b"99999999999999999999", b"[{}]", b"1979-05-27")
            )  # fmt: skip
            lines[at] = key + b"= " + new + b"\n"
    return b"".join(lines)


def _damage(value: Value, chance: random.Random) -> None:
    """Damage one place inside a value, each container as likely as any."""
    places: list[tuple[dict[str, Value] | list[Value], str | int]] = []

    def visit(container: Value) -> None:
        if isinstance(container, dict):
            places.extend((container, key) for key in container)
            for inner in container.values():
                visit(inner)
        elif isinstance(container, list):
            places.extend((container, i) for i in range(len(container)))
            for inner in container:
                visit(inner)

    visit(value)
    if not places:
        return
    container, key = chance.choice(places)
    match chance.randrange(5):
        case 0:
            del container[key]  # type: ignore[arg-type]
        case 1 if isinstance(container, list):
            container.append(copy.deepcopy(container[key]))  # type: ignore[index]
        case 1 if isinstance(container, dict):
            container[f"{key}x"] = container.pop(str(key))
        case 2:
            other, place = chance.choice(places)
            container[key] = copy.deepcopy(other[place])  # type: ignore[index]
        case _:
            container[key] = chance.choice(_VALUES)  # type: ignore[index]


BINARY: tuple[Mutation, ...] = (bytes_damaged,)
MLIR: tuple[Mutation, ...] = (
    numbers_replaced, types_swapped, lines_damaged, numbers_replaced, types_swapped, bytes_damaged,
)  # fmt: skip
JSON: tuple[Mutation, ...] = (json_damaged, json_damaged, json_damaged, bytes_damaged)
TOML: tuple[Mutation, ...] = (toml_damaged, toml_damaged, toml_damaged, bytes_damaged)
