"""Contractions, convolutions and poolings over tiles."""

from __future__ import annotations

from tests.conformance.cases import case
from tests.conformance.text import Function, Value

ROWS, COLUMNS, RESULT = {0: 8, 1: 1}, {1: 8, 0: 1}, {0: 8, 1: 8}
LAST = (0, 3, 1, 2)


def _mmt4d(f: Function, x: Value, w: Value, tiles: dict[int, int] = ROWS) -> Value:
    lhs = f.pack(x, tiles, padding=0)
    rhs = f.pack(w, {1: tiles[0], 0: tiles[1]}, (1, 0), padding=0)
    return f.matmul(lhs, rhs, "mmt4d")


@case(0)
def packed_matmul(f: Function) -> str:
    x, w = f.argument(24, 64), f.argument(64, 40)
    return f.text(f.unpack(_mmt4d(f, x, w), RESULT, (24, 40)))


@case(0)
def padded_matmul(f: Function) -> str:
    x, w = f.argument(30, 61), f.argument(61, 100)
    y = _mmt4d(f, x, w, {0: 8, 1: 8})
    return f.text(f.unpack(y, RESULT, (30, 100)))


@case(0)
def packed_layers(f: Function) -> str:
    x, w, v = f.argument(30, 64), f.argument(64, 96), f.argument(96, 40)
    y = f.unpack(_mmt4d(f, x, w), RESULT, (30, 96))
    zero = f.number(0)
    into = f.empty(30, 96)
    body = [f"%r = arith.maximumf %x0, {zero.name} : f32"]
    y = f.generic(("a b", "a b"), "pp", (y,), into, body)
    return f.text(f.unpack(_mmt4d(f, y, v), RESULT, (30, 40)))


@case(0)
def packed_matmul_with_bias(f: Function) -> str:
    x, w, bias = f.argument(30, 64), f.argument(64, 100), f.argument(100)
    y = _mmt4d(f, x, w)
    b = f.pack(bias, {0: 8}, padding=0)
    y = f.unary(f.binary(y, b, ("a b c d", "b d", "a b c d")), "math.tanh")
    return f.text(f.unpack(y, RESULT, (30, 100)))


@case(0)
def matmul_that_stays_packed(f: Function) -> str:
    x, w = f.argument(4, 64, 16, 1), f.argument(2, 64, 16, 1)
    return f.text(f.matmul(x, w, "mmt4d"))


@case(0)
def packed_batch_matmul(f: Function) -> str:
    x, w = f.argument(3, 24, 64), f.argument(3, 64, 40)
    lhs = f.pack(x, {1: 8, 2: 1})
    rhs = f.pack(w, {2: 8, 1: 1}, (0, 2, 1))
    y = f.matmul(lhs, rhs, "batch_mmt4d")
    return f.text(f.unpack(y, {1: 8, 2: 8}, (3, 24, 40)))


@case(1)
def matmul_of_unpacks(f: Function) -> str:
    x, w = f.argument(8, 4, 8, 32), f.argument(128, 40)
    return f.text(f.matmul(f.unpack(x, {0: 8, 1: 32}, (64, 128)), w))


@case(0)
def convolution_over_channel_tiles(f: Function) -> str:
    x, w = f.argument(1, 16, 16, 32), f.argument(3, 3, 32, 64)
    image = f.pack(x, {3: 16}, LAST)
    filters = f.pack(w, {2: 16, 3: 16}, (3, 2, 0, 1))
    maps = ("a f c+h d+i g", "b f h i g e", "a b c d e")
    y = f.contraction(maps, "ppppprrrr", (image, filters), f.fill(0, 1, 4, 14, 14, 16))
    return f.text(f.unpack(y, {3: 16}, (1, 14, 14, 64), LAST))


@case(0)
def pooling_over_channel_tiles(f: Function) -> str:
    x = f.argument(1, 16, 16, 30)
    image = f.pack(x, {3: 16}, LAST, padding=0)
    maps = ("a b c+f d+g e", "f g", "a b c d e")
    body = ["%r = arith.addf %x0, %acc : f32"]
    y = f.generic(maps, "ppppprr", (image, f.empty(3, 3)), f.fill(0, 1, 2, 14, 14, 16), body)
    return f.text(f.unpack(y, {3: 16}, (1, 14, 14, 30), LAST))
