"""Packs beside unpacks and transposes, which may be one of them or none."""

from __future__ import annotations

from tests.conformance.cases import case
from tests.conformance.text import Function

SQUARE = {0: 8, 1: 32}


@case(0)
def unpack_of_a_pack(f: Function) -> str:
    x = f.argument(64, 128)
    y = f.unpack(f.pack(f.unary(x), SQUARE), SQUARE, (64, 128))
    return f.text(f.unary(y))


@case(0)
def unpack_of_a_padded_pack(f: Function) -> str:
    x = f.argument(61, 120)
    y = f.unpack(f.pack(f.unary(x), SQUARE, padding=0), SQUARE, (61, 120))
    return f.text(f.unary(y))


@case(0)
def pack_of_an_unpack(f: Function) -> str:
    x = f.argument(8, 4, 8, 32)
    y = f.pack(f.unpack(f.unary(x), SQUARE, (64, 128)), SQUARE)
    return f.text(f.unary(y))


@case(1)
def pack_of_an_unpack_of_other_tiles(f: Function) -> str:
    x = f.argument(8, 4, 8, 32)
    y = f.pack(f.unpack(f.unary(x), SQUARE, (64, 128)), {0: 16, 1: 16})
    return f.text(f.unary(y))


@case(1)
def pack_of_an_unpack_in_another_order(f: Function) -> str:
    x = f.argument(8, 4, 8, 32)
    y = f.pack(f.unpack(f.unary(x), SQUARE, (64, 128)), SQUARE, (1, 0))
    return f.text(f.unary(y))


@case(1)
def unpack_of_a_pack_in_another_order(f: Function) -> str:
    x = f.argument(64, 64)
    y = f.pack(f.unary(x), {0: 8, 1: 8})
    return f.text(f.unary(f.unpack(y, {1: 8, 0: 8}, (64, 64), (1, 0))))


@case(1)
def pack_with_padding_that_is_not_needed(f: Function) -> str:
    x = f.argument(64, 128)
    return f.text(f.pack(x, SQUARE, padding=1))


@case(1)
def transpose_of_a_pack(f: Function) -> str:
    x = f.argument(56, 57, 1, 64)
    y = f.pack(x, {3: 32}, (0, 3, 2, 1))
    return f.text(f.transpose(y, 4, 0, 2, 1, 3))


@case(1)
def transpose_of_a_pack_of_inner_dims(f: Function) -> str:
    x = f.argument(56, 72, 24, 128)
    y = f.pack(x, {0: 8, 2: 4, 3: 32})
    return f.text(f.transpose(y, 0, 1, 2, 3, 5, 4, 6))


@case(1)
def transpose_of_a_pack_of_outer_dims(f: Function) -> str:
    x = f.argument(56, 72, 24, 128)
    y = f.pack(x, {0: 8, 2: 4, 3: 32}, (3, 1, 0, 2))
    return f.text(f.transpose(y, 2, 1, 0, 3, 4, 5, 6))


@case(1)
def pack_of_a_transpose(f: Function) -> str:
    x = f.argument(56, 64, 1, 24)
    y = f.transpose(x, 2, 0, 3, 1)
    return f.text(f.pack(y, {3: 32}))


@case(1)
def permuted_pack_of_a_transpose(f: Function) -> str:
    x = f.argument(56, 64, 8, 24)
    y = f.transpose(x, 2, 0, 3, 1)
    return f.text(f.pack(y, {3: 32, 1: 8}, (3, 0, 1, 2)))


@case(1)
def padded_pack_of_a_transpose(f: Function) -> str:
    x = f.argument(55, 60)
    return f.text(f.pack(f.transpose(x, 1, 0), {0: 8, 1: 16}, padding=0))


@case(1)
def transpose_of_an_unpack(f: Function) -> str:
    x = f.argument(1, 1, 4, 16)
    return f.text(f.transpose(f.unpack(x, {0: 4, 1: 16}, (4, 16)), 1, 0))


@case(1)
def transpose_of_an_unpack_of_many_dims(f: Function) -> str:
    x = f.argument(7, 18, 4, 2, 8, 4, 16)
    y = f.unpack(x, {0: 8, 1: 4, 3: 16}, (56, 72, 4, 32), (0, 1, 2, 3))
    return f.text(f.transpose(y, 3, 0, 2, 1))


@case(1)
def unpack_of_a_transpose(f: Function) -> str:
    x = f.argument(4, 8, 32, 8)
    return f.text(f.unpack(f.transpose(x, 1, 0, 3, 2), SQUARE, (64, 128)))


@case(0)
def transposes_around_an_op(f: Function) -> str:
    x = f.argument(4, 8, 16)
    y = f.unary(f.transpose(x, 0, 2, 1))
    return f.text(f.transpose(y, 0, 2, 1))


@case(0)
def transposes_around_each_op(f: Function) -> str:
    x = f.argument(1, 8, 6, 16)
    for _ in range(3):
        y = f.unary(f.transpose(x, 0, 3, 1, 2))
        x = f.transpose(y, 0, 2, 3, 1)
    return f.text(x)


@case(0)
def transposes_around_a_residual(f: Function) -> str:
    x = f.argument(1, 8, 6, 16)
    y = f.transpose(x, 0, 3, 1, 2)
    z = f.binary(f.unary(y), y)
    return f.text(f.transpose(z, 0, 2, 3, 1))


@case(0)
def transposes_around_a_reduction(f: Function) -> str:
    x = f.argument(2, 8, 6, 16)
    y = f.transpose(x, 0, 3, 1, 2)
    body = ["%r = arith.addf %x0, %acc : f32"]
    total = f.generic(("a b c d", "a b"), "pprr", (y,), f.fill(0, 2, 16), body)
    z = f.binary(y, total, ("a b c d", "a b", "a b c d"))
    return f.text(f.transpose(z, 0, 2, 3, 1))


@case(0)
def transposes_around_a_concat(f: Function) -> str:
    x, y = f.argument(1, 8, 6, 16), f.argument(1, 8, 6, 8)
    z = f.concat(1, f.transpose(x, 0, 3, 1, 2), f.transpose(y, 0, 3, 1, 2))
    return f.text(f.transpose(f.unary(z), 0, 2, 3, 1))


@case(0)
def transposes_around_a_reshape(f: Function) -> str:
    x = f.argument(2, 8, 6, 16)
    y = f.reshape(f.transpose(x, 0, 3, 1, 2), ((0,), (1,), (2, 3)), 2, 16, 48)
    y = f.reshape(f.unary(y), ((0,), (1,), (2, 3)), 2, 16, 8, 6)
    return f.text(f.transpose(y, 0, 2, 3, 1))


@case(0)
def transposes_around_a_pad(f: Function) -> str:
    x = f.argument(2, 8, 6, 16)
    y = f.pad(f.transpose(x, 0, 3, 1, 2), (0, 0, 1, 1), (0, 0, 1, 1))
    return f.text(f.transpose(f.unary(y), 0, 2, 3, 1))
