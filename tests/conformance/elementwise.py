"""Packs behind elementwise ops, and unpacks ahead of them."""

from __future__ import annotations

from tests.conformance.cases import case
from tests.conformance.text import Function

SQUARE = {0: 8, 1: 32}
SWAPPED = {1: 32, 0: 8}


@case(1)
def elementwise_pack(f: Function) -> str:
    x = f.argument(64, 128)
    return f.text(f.pack(f.unary(x), SQUARE))


@case(1)
def elementwise_pack_with_padding(f: Function) -> str:
    x = f.argument(61, 120)
    return f.text(f.pack(f.unary(x), SQUARE, padding=0))


@case(1)
def elementwise_pack_transposed_inner_dims(f: Function) -> str:
    x = f.argument(128, 256)
    return f.text(f.pack(f.unary(x), {1: 16, 0: 32}))


@case(1)
def elementwise_pack_transposed_outer_dims(f: Function) -> str:
    x = f.argument(128, 256)
    return f.text(f.pack(f.unary(x), {0: 16, 1: 32}, (1, 0)))


@case(1)
def elementwise_pack_transposed_inner_and_outer_dims(f: Function) -> str:
    x = f.argument(128, 256)
    return f.text(f.pack(f.unary(x), {1: 16, 0: 32}, (1, 0)))


@case(1)
def elementwise_pack_of_four_dims(f: Function) -> str:
    x = f.argument(1, 56, 57, 64)
    return f.text(f.pack(f.unary(x), {3: 32}, (0, 3, 1, 2)))


@case(0)
def broadcast_pack(f: Function) -> str:
    rows, columns = f.argument(64), f.argument(128)
    maps = ("a", "b", "a b")
    body = ["%r = arith.addf %x0, %x1 : f32"]
    y = f.generic(maps, "pp", (rows, columns), f.empty(64, 128), body)
    return f.text(f.pack(y, SQUARE))


@case(1)
def broadcast_bias_pack(f: Function) -> str:
    x, bias = f.argument(1, 56, 56, 64), f.argument(64)
    y = f.binary(x, bias, ("a b c d", "d", "a b c d"))
    return f.text(f.pack(y, {3: 32}, (0, 3, 1, 2)))


@case(1)
def transposing_pack(f: Function) -> str:
    x, bias, scale = f.argument(10, 12, 64, 32), f.argument(10), f.argument(12)
    y = f.binary(x, bias, ("a b c d", "a", "a b c d"))
    y = f.binary(y, scale, ("a b c d", "b", "a b c d"))
    into = f.empty(10, 64, 12, 32)
    turned = f.generic(("a c b d", "a b c d"), "pppp", (y,), into, ["%r = math.exp %x0 : f32"])
    return f.text(f.pack(turned, {3: 16, 2: 4}))


@case(1)
def transposing_pack_with_outer_dims(f: Function) -> str:
    x = f.argument(10, 12, 64, 32)
    into = f.empty(10, 64, 12, 32)
    turned = f.generic(("a c b d", "a b c d"), "pppp", (x,), into, ["%r = math.exp %x0 : f32"])
    return f.text(f.pack(turned, {3: 16, 2: 4}, (1, 2, 3, 0)))


@case(0)
def constant_index_pack(f: Function) -> str:
    x = f.argument(100, 1, 128)
    maps = ("a 0 b", "a b")
    y = f.generic(maps, "pp", (x,), f.empty(100, 128), ["%r = math.exp %x0 : f32"])
    return f.text(f.pack(y, {1: 32}))


@case(1)
def two_operands_pack(f: Function) -> str:
    x, y = f.argument(64, 128), f.argument(64, 128)
    return f.text(f.pack(f.binary(x, y), SQUARE))


@case(1)
def scalar_operand_pack(f: Function) -> str:
    x, scalar = f.argument(64, 128), f.argument()
    return f.text(f.pack(f.binary(x, scalar, ("a b", "", "a b")), SQUARE))


@case(1)
def pack_beside_another_reader(f: Function) -> str:
    x, other = f.argument(64, 128), f.argument(64, 128)
    y = f.unary(x)
    return f.text(f.pack(y, SQUARE), f.binary(y, other))


@case(0)
def pack_of_a_fill(f: Function) -> str:
    x = f.argument(8, 4, 8, 32)
    return f.text(f.binary(x, f.pack(f.fill(2, 64, 128), SQUARE)))


@case(0)
def pack_of_a_splat(f: Function) -> str:
    x = f.argument(8, 4, 8, 32)
    return f.text(f.binary(x, f.pack(f.splat(2, 64, 128), SQUARE)))


@case(0)
def pack_of_an_empty_tensor(f: Function) -> str:
    x = f.argument(8, 4, 8, 32)
    into = f.pack(f.empty(64, 128), SQUARE)
    loops = "a b c d"
    return f.text(f.generic((loops, loops), "pppp", (x,), into, ["%r = math.exp %x0 : f32"]))


@case(1)
def unpack_elementwise(f: Function) -> str:
    x = f.argument(12, 56, 56, 32)
    y = f.unpack(x, {2: 32}, (56, 56, 384), (2, 0, 1))
    return f.text(f.unary(y))


@case(1)
def unpack_beside_a_plain_operand(f: Function) -> str:
    x, plain = f.argument(2, 56, 56, 32), f.argument(56, 56, 64)
    y = f.unpack(x, {2: 32}, (56, 56, 64), (2, 0, 1))
    return f.text(f.binary(y, plain))


@case(1)
def unpack_of_the_init(f: Function) -> str:
    x, plain = f.argument(2, 56, 56, 32), f.argument(56, 56, 64)
    into = f.unpack(x, {2: 32}, (56, 56, 64), (2, 0, 1))
    body = ["%r = arith.addf %x0, %acc : f32"]
    return f.text(f.generic(("a b c", "a b c"), "ppp", (plain,), into, body))


@case(1)
def unpack_into_another_type(f: Function) -> str:
    x = f.argument(2, 56, 56, 32)
    y = f.unpack(x, {2: 32}, (56, 56, 64), (2, 0, 1))
    into = f.empty(56, 56, 64, element="f16")
    body = ["%r = arith.truncf %x0 : f32 to f16"]
    return f.text(f.generic(("a b c", "a b c"), "ppp", (y,), into, body))


@case(1)
def two_unpacks_of_one_layout(f: Function) -> str:
    x, y = f.argument(8, 4, 8, 32), f.argument(8, 4, 8, 32)
    one, other = (f.unpack(t, SQUARE, (64, 128)) for t in (x, y))
    return f.text(f.binary(one, other))


@case(0)
def unpack_elementwise_pack(f: Function) -> str:
    x = f.argument(8, 4, 8, 32)
    y = f.unary(f.unpack(x, SQUARE, (64, 128)))
    return f.text(f.pack(y, SQUARE))


@case(1)
def unpack_elementwise_pack_in_other_tiles(f: Function) -> str:
    x = f.argument(8, 4, 8, 32)
    y = f.unary(f.unpack(x, SQUARE, (64, 128)))
    return f.text(f.pack(y, {0: 16, 1: 16}))


@case(0)
def pack_elementwise_unpack(f: Function) -> str:
    x = f.argument(61, 120)
    y = f.unary(f.pack(x, SQUARE, padding=0))
    return f.text(f.unpack(y, SQUARE, (61, 120)))


@case(0)
def pack_two_elementwise_unpack(f: Function) -> str:
    x, bias = f.argument(61, 120), f.argument(120)
    y = f.pack(x, SWAPPED, (1, 0), padding=0)
    b = f.pack(bias, {0: 32}, padding=0)
    y = f.unary(f.binary(y, b, ("a b c d", "a c", "a b c d")))
    return f.text(f.unpack(y, SWAPPED, (61, 120), (1, 0)))


@case(0)
def branches_over_tiles(f: Function) -> str:
    x = f.argument(64, 128)
    y = f.pack(x, SQUARE)
    one, other = f.unary(y), f.unary(y, "math.tanh")
    z = f.binary(one, other)
    return f.text(f.unpack(z, SQUARE, (64, 128)), f.unpack(one, SQUARE, (64, 128)))


@case(0)
def elementwise_over_tiles_transposed(f: Function) -> str:
    x = f.argument(64, 128)
    y = f.transpose(f.unary(f.pack(x, SQUARE)), 1, 0, 3, 2)
    return f.text(f.transpose(f.unpack(y, {0: 32, 1: 8}, (128, 64)), 1, 0))


@case(0)
def reduction_over_tiles(f: Function) -> str:
    x = f.argument(61, 120)
    y = f.pack(x, SQUARE, padding=0)
    body = ["%r = arith.addf %x0, %acc : f32"]
    total = f.generic(("a b c d", "a c"), "prpr", (y,), f.fill(0, 8, 8), body)
    return f.text(f.unpack(total, {0: 8}, (61,)))


@case(0)
def reduction_of_an_unpack(f: Function) -> str:
    x = f.argument(8, 4, 8, 32)
    y = f.unpack(x, SQUARE, (64, 128))
    body = ["%r = arith.addf %x0, %acc : f32"]
    return f.text(f.generic(("a b", "a"), "pr", (y,), f.fill(0, 64), body))
