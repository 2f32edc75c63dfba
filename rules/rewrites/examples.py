"""Small graphs that the rewrite rules show themselves on."""

from __future__ import annotations

from layoutopt.ir.affine import affine, dim, identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    FromTensor,
    Graph,
    GraphBuilder,
    IteratorType,
    Pad,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body, fill_body

_P, _R = IteratorType.PARALLEL, IteratorType.REDUCTION


def convolution_example(
    filter_size: int,
    stride: int,
    dilation: int = 1,
    channels: tuple[int, int] = (3, 4),
    image: int = 4,
    margin: int = 0,
) -> Graph:
    """``conv_2d_nchw_fchw`` of x (tensor 0) and w (tensor 1) into y (tensor 2).

    ``channels``: of x and of y. ``margin``: rows and columns of x that no window reaches.
    """
    batch = 2
    channels_in, filters = channels
    reach = (image - 1) * stride + (filter_size - 1) * dilation + 1 + margin
    builder = GraphBuilder()
    x = builder.tensor((batch, channels_in, reach, reach), "f32")
    w = builder.tensor((filters, channels_in, filter_size, filter_size), "f32")
    y = builder.tensor((batch, filters, image, image), "f32")
    windows = tuple(affine([(i, stride), (k, dilation)]) for i, k in ((2, 5), (3, 6)))
    builder.add(
        Structured(
            (x, w),
            (Fill("0.0 : f32"),),
            (y,),
            (batch, filters, image, image, channels_in, filter_size, filter_size),
            (_P, _P, _P, _P, _R, _R, _R),
            ((dim(0), dim(4), *windows), plain_map((1, 4, 5, 6)), plain_map((0, 1, 2, 3))),
            contraction_body("f32", "f32", "f32"),
        )
    )
    return builder.build((x, w), (y,))


def depthwise_example(
    filter_size: int = 3, stride: int = 1, channels: int = 4, image: int = 4
) -> Graph:
    """``depthwise_conv_2d_nchw_chw`` of x (tensor 0) and w (tensor 1) into y (tensor 2)."""
    reach = (image - 1) * stride + filter_size
    builder = GraphBuilder()
    x = builder.tensor((1, channels, reach, reach), "f32")
    w = builder.tensor((channels, filter_size, filter_size), "f32")
    y = builder.tensor((1, channels, image, image), "f32")
    windows = tuple(affine([(i, stride), (k, 1)]) for i, k in ((2, 4), (3, 5)))
    builder.add(
        Structured(
            (x, w),
            (Fill("0.0 : f32"),),
            (y,),
            (1, channels, image, image, filter_size, filter_size),
            (_P, _P, _P, _P, _R, _R),
            ((dim(0), dim(1), *windows), plain_map((1, 4, 5)), plain_map((0, 1, 2, 3))),
            contraction_body("f32", "f32", "f32"),
        )
    )
    return builder.build((x, w), (y,))


def padded_convolution_example(
    filter_size: int, dilation: int, margin: int, image: int = 4, outputs: int | None = None
) -> Graph:
    """A convolution (op 1) of x (tensor 0) among zeros (op 0) with w (tensor 1).

    ``margin``: rows and columns of zeros on each side. ``outputs``: along each of these dims; as
    many as there are windows if None.
    """
    wide = image + 2 * margin
    reach = (filter_size - 1) * dilation
    made = wide - reach if outputs is None else outputs
    builder = GraphBuilder()
    x, w = (
        builder.tensor((1, 3, image, image), "f32"),
        builder.tensor((2, 3, filter_size, filter_size), "f32"),
    )
    padded = builder.tensor((1, 3, wide, wide), "f32")
    y = builder.tensor((1, 2, made, made), "f32")
    around = (0, 0, margin, margin)
    builder.add(Pad(x, padded, around, around, "0.0 : f32"))
    windows = tuple(affine([(i, 1), (k, dilation)]) for i, k in ((2, 5), (3, 6)))
    builder.add(
        Structured(
            (padded, w),
            (Fill("0.0 : f32"),),
            (y,),
            (1, 2, made, made, 3, filter_size, filter_size),
            (_P, _P, _P, _P, _R, _R, _R),
            ((dim(0), dim(4), *windows), plain_map((1, 4, 5, 6)), plain_map((0, 1, 2, 3))),
            contraction_body("f32", "f32", "f32"),
        )
    )
    return builder.build((x, w), (y,))


def matmul_example(factor: str, summed: str, *, accumulates: bool = False) -> Graph:
    """``x . w`` of type ``factor``, summed in type ``summed``; ``accumulates``: onto tensor 2."""
    builder = GraphBuilder()
    x, w = builder.tensor((3, 4), factor), builder.tensor((4, 5), factor)
    given = [builder.tensor((3, 5), summed)] if accumulates else []
    y = builder.tensor((3, 5), summed)
    builder.add(
        Structured(
            (x, w),
            (FromTensor(given[0]) if accumulates else Fill(f"0.0 : {summed}"),),
            (y,),
            (3, 5, 4),
            (_P, _P, _R),
            (plain_map((0, 2)), plain_map((2, 1)), plain_map((0, 1))),
            contraction_body(factor, factor, summed),
        )
    )
    return builder.build((x, w, *given), (y,))


def counted(tensor: int, shape: tuple[int, ...]) -> Structured:
    """A constant of f32 whose elements are their places along the last dim."""
    ops = (
        ScalarOp("linalg.index", (), "index", (("dim", str(len(shape) - 1)),)),
        ScalarOp("arith.index_cast", (1,), "i32"),
        ScalarOp("arith.sitofp", (2,), "f32"),
    )
    return _computed(tensor, shape, Body(("f32",), ops, (3,)))


def filled(tensor: int, shape: tuple[int, ...], value: str) -> Structured:
    """A constant of f32 of one value, as MLIR text."""
    return _computed(tensor, shape, fill_body(value, "f32"))


def _computed(tensor: int, shape: tuple[int, ...], body: Body) -> Structured:
    """What a body makes of no tensor."""
    rank = len(shape)
    kinds, maps = (IteratorType.PARALLEL,) * rank, (identity_map(rank),)
    return Structured((), (Uninitialized(),), (tensor,), shape, kinds, maps, body)
