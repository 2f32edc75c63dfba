"""Steps over tiles: packs around ops that run over an outer and an inner loop for each dim."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tests.fuzz.draw import Draw
from tests.fuzz.kinds.contractions import MOST_PRODUCTS
from tests.fuzz.kinds.shapes import dims, given, multiply_add, need, of_type
from tests.fuzz.value import Value, tensor_text
from tests.fuzz.writer import Read, Writer, summed


@dataclass(frozen=True, slots=True)
class _Tiles:
    """How a pack lays a tensor out."""

    order: tuple[int, ...]
    tiled: tuple[int, ...]
    sizes: tuple[int, ...]

    @property
    def attributes(self) -> str:
        return (
            f"outer_dims_perm = {list(self.order)} inner_dims_pos = {list(self.tiled)} "
            f"inner_tiles = {list(self.sizes)}"
        )

    def memory(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape of the packed tensor."""
        tile = dict(zip(self.tiled, self.sizes, strict=True))
        return (*(-(-shape[d] // tile.get(d, 1)) for d in self.order), *self.sizes)


def over_tiles(writer: Writer, draw: Draw) -> None:
    """An elementwise op between a pack and an unpack, of one operand or of two."""
    x = given(writer, draw, range(1, 4), ("f32", "i32", "f16"))
    need(min(x.shape) > 0, "an empty tensor")
    rank = len(x.shape)
    tiled = draw.order(range(rank))[: draw.between(1, rank)]
    tiles = _Tiles(
        tuple(draw.order(range(rank))), tuple(tiled), tuple(draw.between(1, 4) for _ in tiled)
    )
    packed = _packed(writer, draw, x, tiles, draw.pick((0, 0, 1)))
    other = packed
    if draw.one_in(2):
        other = _packed(writer, draw, of_type(writer, draw, x.shape, x.element), tiles, 0)
    sizes = packed.shape
    identity = dims(range(len(sizes)))
    into, kind = writer.empty(sizes, x.element), tensor_text(sizes, x.element)
    suffix = "f" if x.element.startswith("f") else "i"
    (name,) = writer.generic(
        [Read(v.name, kind, identity) for v in (packed, other)],
        [Read(into, kind, identity)],
        "p" * len(sizes),
        [f"%r = arith.sub{suffix} %x, %y : {x.element}", f"linalg.yield %r : {x.element}"],
        [f"%{letter}: {x.element}" for letter in "xyo"],
    )
    bound, error, integral = summed(x.element, [packed], 1, other, windowed=False)
    made = writer.define(name, sizes, x.element, bound, error, integral)
    if not draw.one_in(4):
        _unpacked(writer, made, tiles, x.shape)


def packed_matmul(writer: Writer, draw: Draw) -> None:
    """A matmul over tiles, named or generic, of packed operands and mostly unpacked behind."""
    x = given(writer, draw, range(2, 3), ("f32", "i32"))
    need(min(x.shape) > 0, "an empty tensor")
    (m, k), n = x.shape, draw.between(1, 9)
    named = x.element == "f32" and draw.one_in(3)
    m0, n0, k0 = (8, 8, 1) if named else (draw.between(1, 4) for _ in range(3))
    y = of_type(writer, draw, (k, n), x.element)
    lhs = _packed(writer, draw, x, _Tiles((0, 1), (0, 1), (m0, k0)), 0)
    rhs = _packed(writer, draw, y, _Tiles((1, 0), (1, 0), (n0, k0)), 0)
    sizes = (lhs.shape[0], rhs.shape[0], m0, n0)
    need(math.prod(sizes) * lhs.shape[1] * k0 <= MOST_PRODUCTS, "few products")
    into, kind = writer.fill(0, sizes, x.element), tensor_text(sizes, x.element)
    if named:
        result = writer.op(
            f"linalg.mmt4d ins({lhs.name}, {rhs.name} : {lhs.type}, {rhs.type}) "
            f"outs({into} : {kind}) -> {kind}"
        )
    else:
        (result,) = writer.generic(
            [
                Read(lhs.name, lhs.type, "d0, d2, d3, d5"),
                Read(rhs.name, rhs.type, "d1, d2, d4, d5"),
            ],
            [Read(into, kind, "d0, d1, d3, d4")],
            "pprppr",
            *multiply_add(x.element, x.element, x.element),
        )
    bound, error, integral = summed(x.element, [x, y], k, None, windowed=False)
    made = writer.define(result, sizes, x.element, bound, error, integral)
    if not draw.one_in(4):
        _unpacked(writer, made, _Tiles((0, 1), (0, 1), (m0, n0)), (m, n))


def _packed(writer: Writer, draw: Draw, x: Value, tiles: _Tiles, filler: int) -> Value:
    """A pack, with padding where a tile does not divide its dim."""
    sizes = tiles.memory(x.shape)
    padding = ""
    if math.prod(sizes) != math.prod(x.shape) or draw.one_in(4):
        padding = f"padding_value({writer.scalar(filler, x.element)} : {x.element}) "
    into, kind = writer.empty(sizes, x.element), tensor_text(sizes, x.element)
    name = writer.op(
        f"linalg.pack {writer.read(x)} {padding}{tiles.attributes} into {into} : {x.type} -> {kind}"
    )
    return Value(name, sizes, x.element, max(x.bound, 1.0), x.error, x.integral)


def _unpacked(writer: Writer, x: Value, tiles: _Tiles, shape: tuple[int, ...]) -> None:
    into, kind = writer.empty(shape, x.element), tensor_text(shape, x.element)
    name = writer.op(
        f"linalg.unpack {writer.read(x)} {tiles.attributes} into {into} : {x.type} -> {kind}"
    )
    writer.define(name, shape, x.element, x.bound, x.error, x.integral)
