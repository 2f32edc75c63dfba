"""Reshapes beside packs, and packs that are reshapes."""

from __future__ import annotations

from tests.conformance.cases import case
from tests.conformance.text import Function


@case(1)
def pack_of_a_collapse(f: Function) -> str:
    x = f.argument(32, 16, 4)
    y = f.reshape(x, ((0, 1), (2,)), 512, 4)
    return f.text(f.pack(y, {0: 8, 1: 1}))


@case(1)
def permuted_pack_of_a_collapse(f: Function) -> str:
    x = f.argument(4, 192, 16, 256)
    y = f.reshape(x, ((0,), (1, 2), (3,)), 4, 3072, 256)
    return f.text(f.pack(y, {1: 16, 2: 8}, (0, 2, 1)))


@case(0)
def pack_of_a_collapse_of_unit_dims(f: Function) -> str:
    x = f.argument(1, 64, 1, 4)
    y = f.reshape(x, ((0, 1, 2), (3,)), 64, 4)
    return f.text(f.pack(y, {0: 8, 1: 4}))


@case(1)
def pack_of_an_expand_of_outer_dims(f: Function) -> str:
    x = f.argument(32, 64)
    y = f.reshape(x, ((0, 1), (2,)), 4, 8, 64)
    return f.text(f.pack(y, {2: 16}, (2, 0, 1)))


@case(1)
def pack_of_an_expand_of_inner_dims(f: Function) -> str:
    x = f.argument(32, 64)
    y = f.reshape(x, ((0,), (1, 2)), 32, 4, 16)
    return f.text(f.pack(y, {0: 4, 2: 8}))


@case(0)
def pack_of_an_expand_beside_the_tiled_dims(f: Function) -> str:
    x = f.argument(32, 60)
    y = f.reshape(x, ((0, 1), (2,)), 4, 8, 60)
    return f.text(f.pack(y, {2: 32}, padding=0))


@case(1)
def padded_pack_of_an_expand(f: Function) -> str:
    x = f.argument(60, 64)
    y = f.reshape(x, ((0, 1), (2,)), 4, 15, 64)
    return f.text(f.pack(y, {1: 8}, padding=0))


@case(1)
def expand_of_an_unpack(f: Function) -> str:
    x = f.argument(64, 4, 8, 8)
    y = f.unpack(x, {0: 8, 1: 8}, (512, 32))
    return f.text(f.reshape(y, ((0, 1), (2,)), 32, 16, 32))


@case(1)
def permuted_expand_of_an_unpack(f: Function) -> str:
    x = f.argument(4, 32, 384, 8, 8)
    y = f.unpack(x, {2: 8, 1: 8}, (4, 3072, 256), (0, 2, 1))
    return f.text(f.reshape(y, ((0,), (1, 2), (3,)), 4, 48, 64, 256))


@case(1)
def expand_of_an_unpack_into_unit_dims(f: Function) -> str:
    x = f.argument(4, 32, 8, 8)
    y = f.unpack(x, {0: 8, 1: 8}, (32, 256))
    return f.text(f.reshape(y, ((0, 1, 2), (3,)), 1, 32, 1, 256))


@case(1)
def expand_of_an_unpack_across_tiles(f: Function) -> str:
    x = f.argument(32, 32, 8, 8)
    y = f.unpack(x, {0: 8, 1: 8}, (256, 256))
    return f.text(f.reshape(y, ((0, 1), (2,)), 256, 1, 256))


@case(0)
def pack_of_a_collapse_of_an_unpack(f: Function) -> str:
    x = f.argument(32, 2, 4, 8)
    y = f.unpack(x, {1: 8}, (32, 16, 4))
    y = f.reshape(y, ((0, 1), (2,)), 512, 4)
    return f.text(f.pack(y, {0: 8}))


@case(0)
def pack_of_one_dim(f: Function) -> str:
    x = f.argument(256)
    return f.text(f.unary(f.pack(x, {0: 32})))


@case(0)
def padded_pack_of_one_dim(f: Function) -> str:
    x = f.argument(250)
    return f.text(f.unary(f.pack(x, {0: 32}, padding=0)))


@case(0)
def pack_of_the_last_dim(f: Function) -> str:
    x = f.argument(5, 256)
    return f.text(f.unary(f.pack(x, {1: 32})))


@case(0)
def padded_pack_of_the_last_dim(f: Function) -> str:
    x = f.argument(5, 250)
    return f.text(f.unary(f.pack(x, {1: 32}, padding=0)))


@case(1)
def pack_of_the_first_dim(f: Function) -> str:
    x = f.argument(256, 5)
    return f.text(f.unary(f.pack(x, {0: 32})))


@case(0)
def pack_of_a_column(f: Function) -> str:
    x = f.argument(1024, 1)
    return f.text(f.unary(f.pack(x, {0: 32, 1: 1})))


@case(0)
def pack_of_a_row(f: Function) -> str:
    x = f.argument(1, 1024)
    return f.text(f.unary(f.pack(x, {0: 1, 1: 32})))


@case(0)
def pack_of_a_permuted_row(f: Function) -> str:
    x = f.argument(1, 1024)
    return f.text(f.unary(f.pack(x, {1: 32, 0: 1}, (1, 0))))


@case(0)
def pack_into_tiles_of_one(f: Function) -> str:
    x = f.argument(6, 10)
    return f.text(f.unary(f.pack(x, {0: 1, 1: 1})))


@case(0)
def pack_into_tiles_of_one_permuted(f: Function) -> str:
    x = f.argument(6, 10)
    return f.text(f.unary(f.pack(x, {0: 1, 1: 1}, (1, 0))))


@case(0)
def unpack_of_one_dim(f: Function) -> str:
    x = f.argument(8, 32)
    return f.text(f.unpack(f.unary(x), {0: 32}, (256,)))


@case(0)
def padded_unpack_of_one_dim(f: Function) -> str:
    x = f.argument(8, 32)
    return f.text(f.unpack(f.unary(x), {0: 32}, (250,)))


@case(0)
def unpack_of_the_last_dim(f: Function) -> str:
    x = f.argument(5, 8, 32)
    return f.text(f.unpack(f.unary(x), {1: 32}, (5, 256)))


@case(1)
def unpack_of_the_first_dim(f: Function) -> str:
    x = f.argument(8, 5, 32)
    return f.text(f.unpack(f.unary(x), {0: 32}, (256, 5)))


@case(0)
def unpack_of_a_row(f: Function) -> str:
    x = f.argument(1, 32, 1, 1)
    return f.text(f.unpack(f.unary(x), {0: 1, 1: 1}, (1, 32)))


@case(0)
def pack_that_pads_alone(f: Function) -> str:
    x = f.argument(32, 60)
    return f.text(f.unary(f.pack(x, {0: 32, 1: 64}, padding=0)))


@case(0)
def pack_that_pads_alone_with_outer_dims(f: Function) -> str:
    x = f.argument(10, 32, 60)
    return f.text(f.unary(f.pack(x, {1: 32, 2: 64}, (1, 2, 0), padding=0)))


@case(1)
def pack_that_pads_and_transposes(f: Function) -> str:
    x = f.argument(32, 60)
    return f.text(f.unary(f.pack(x, {1: 64, 0: 32}, padding=0)))


@case(0)
def unpack_that_slices_alone(f: Function) -> str:
    x = f.argument(1, 1, 32, 64)
    return f.text(f.unpack(f.unary(x), {0: 32, 1: 64}, (32, 60)))


@case(0)
def unpack_that_slices_alone_with_outer_dims(f: Function) -> str:
    x = f.argument(1, 1, 10, 32, 64)
    return f.text(f.unpack(f.unary(x), {1: 32, 2: 64}, (10, 32, 60), (1, 2, 0)))


@case(1)
def unpack_that_slices_and_transposes(f: Function) -> str:
    x = f.argument(1, 1, 64, 32)
    return f.text(f.unpack(f.unary(x), {1: 64, 0: 32}, (32, 60)))
