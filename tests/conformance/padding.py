"""Pads, slices and concats beside packs."""

from __future__ import annotations

from tests.conformance.cases import case
from tests.conformance.text import Function

CHANNELS = {3: 32}
LAST = (0, 3, 1, 2)


@case(1)
def pad_of_an_unpack(f: Function) -> str:
    x = f.argument(1, 2, 56, 56, 32)
    y = f.unpack(x, CHANNELS, (1, 56, 56, 64), LAST)
    return f.text(f.pad(y, (0, 1, 1, 0), (0, 1, 1, 0)))


@case(0)
def pad_of_an_unpack_with_outer_dims(f: Function) -> str:
    x = f.argument(1, 56, 56, 2, 32)
    y = f.unpack(x, CHANNELS, (1, 56, 56, 64))
    return f.text(f.pad(y, (0, 1, 1, 0), (0, 1, 1, 0)))


@case(0)
def pad_of_an_unpack_along_the_tiled_dim(f: Function) -> str:
    x = f.argument(1, 56, 56, 2, 32)
    y = f.unpack(x, CHANNELS, (1, 56, 56, 64))
    return f.text(f.pad(y, (0, 1, 1, 1), (0, 1, 1, 1)))


@case(0)
def pack_of_a_pad(f: Function) -> str:
    x = f.argument(1, 56, 56, 64)
    return f.text(f.pack(f.pad(x, (0, 1, 1, 0), (0, 1, 1, 0)), CHANNELS))


@case(1)
def pack_of_a_pad_with_outer_dims(f: Function) -> str:
    x = f.argument(1, 56, 56, 64)
    return f.text(f.pack(f.pad(x, (0, 1, 1, 0), (0, 1, 1, 0)), CHANNELS, LAST))


@case(1)
def pack_of_a_pad_along_the_tiled_dim(f: Function) -> str:
    x = f.argument(1, 56, 56, 62)
    return f.text(f.pack(f.pad(x, (0, 1, 1, 1), (0, 1, 1, 1)), CHANNELS, LAST))


@case(1)
def pack_of_a_pad_beside_another_reader(f: Function) -> str:
    x = f.argument(1, 16, 16, 64)
    y = f.pad(x, (0, 1, 1, 0), (0, 1, 1, 0))
    return f.text(f.pack(y, CHANNELS, LAST), f.unary(y))


@case(1)
def pack_of_a_pad_to_whole_tiles(f: Function) -> str:
    x = f.argument(1, 1, 61, 120)
    y = f.pad(x, (0, 0, 0, 0), (0, 0, 3, 8))
    return f.text(f.pack(y, {2: 8, 3: 32}))


@case(1)
def pack_of_a_pad_with_another_value(f: Function) -> str:
    x = f.argument(61, 120)
    y = f.pad(x, (0, 0), (1, 0), 1)
    return f.text(f.pack(y, {0: 8, 1: 32}, padding=0))


@case(0)
def pack_pad_unpack(f: Function) -> str:
    x = f.argument(1, 14, 14, 60)
    y = f.pack(x, CHANNELS, LAST, padding=0)
    y = f.pad(y, (0, 0, 1, 1, 0), (0, 0, 1, 1, 0))
    return f.text(f.unpack(y, CHANNELS, (1, 16, 16, 60), LAST))


@case(0)
def pack_slice_unpack(f: Function) -> str:
    x = f.argument(1, 14, 14, 60)
    y = f.pack(x, CHANNELS, LAST, padding=0)
    y = f.slice(y, (0, 0, 2, 3, 0), 1, 2, 10, 9, 32)
    return f.text(f.unpack(y, CHANNELS, (1, 10, 9, 60), LAST))


@case(0)
def pack_concat_unpack(f: Function) -> str:
    x, y = f.argument(1, 14, 14, 64), f.argument(1, 14, 14, 32)
    packed = [f.pack(t, CHANNELS, LAST) for t in (x, y)]
    return f.text(f.unpack(f.concat(1, *packed), CHANNELS, (1, 14, 14, 96), LAST))


@case(1)
def slice_of_an_unpack(f: Function) -> str:
    x = f.argument(8, 4, 8, 32)
    y = f.unpack(x, {0: 8, 1: 32}, (64, 128))
    return f.text(f.slice(y, (0, 0), 61, 120))


@case(1)
def slice_of_an_unpack_with_an_offset(f: Function) -> str:
    x = f.argument(8, 4, 8, 32)
    y = f.unpack(x, {0: 8, 1: 32}, (64, 128))
    return f.text(f.slice(y, (1, 2), 61, 120))


@case(0)
def unpack_elementwise_padded_pack(f: Function) -> str:
    x = f.argument(61, 120)
    y = f.pack(x, {0: 8, 1: 32}, padding=0)
    y = f.unary(f.unpack(y, {0: 8, 1: 32}, (61, 120)), "math.absf")
    y = f.pack(y, {0: 8, 1: 32}, padding=0)
    return f.text(f.unpack(y, {0: 8, 1: 32}, (61, 120)))
