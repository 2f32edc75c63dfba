"""Small graphs of interior-padded tensors that the scatter rules show themselves on."""

from __future__ import annotations

from layoutopt.ir.affine import IndexMap, affine, dim, identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Reshape,
    Scatter,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body

_P, _R = IteratorType.PARALLEL, IteratorType.REDUCTION


def interior_padded_example(
    filter_size: int,
    stride: int,
    offset: int = 0,
    background: str = "0.0 : f32",
    small: int = 3,
    start: str = "0.0 : f32",
) -> Graph:
    """Op 1: ``conv_2d_nchw_fchw`` of a scatter of x (tensor 0) with w (tensor 1)."""
    builder = GraphBuilder()
    image = offset + (small - 1) * stride + 2
    out = image - filter_size + 1
    x = builder.tensor((1, 2, small, small), "f32")
    w = builder.tensor((3, 2, filter_size, filter_size), "f32")
    wide = builder.tensor((1, 2, image, image), "f32")
    y = builder.tensor((1, 3, out, out), "f32")
    builder.add(Scatter((x,), wide, ((0, 0, offset, offset),), (1, 1, stride, stride), background))
    windows = tuple(affine([(i, 1), (k, 1)]) for i, k in ((2, 5), (3, 6)))
    builder.add(
        Structured(
            (wide, w),
            (Fill(start),),
            (y,),
            (1, 3, out, out, 2, filter_size, filter_size),
            (_P, _P, _P, _P, _R, _R, _R),
            ((dim(0), dim(4), *windows), plain_map((1, 4, 5, 6)), plain_map((0, 1, 2, 3))),
            contraction_body("f32", "f32", "f32"),
        )
    )
    return builder.build((x, w), (y,))


def interior_padded_gradient_example(
    stride: int, filter_size: int = 1, background: str = "0.0 : f32"
) -> Graph:
    """Op 1: the weight gradient ``dw[f, k, c] = sum_o x[o + k, c] * scatter(dy)[o, f]``."""
    small = 3
    builder = GraphBuilder()
    wide = (small - 1) * stride + 1
    x = builder.tensor((wide + filter_size - 1, 2), "f32")
    dy = builder.tensor((small, 4), "f32")
    padded = builder.tensor((wide, 4), "f32")
    dw = builder.tensor((4, filter_size, 2), "f32")
    builder.add(Scatter((dy,), padded, ((0, 0),), (stride, 1), background))
    window = affine([(3, 1), (1, 1)]) if filter_size > 1 else dim(3)
    builder.add(
        Structured(
            (x, padded),
            (Fill("0.0 : f32"),),
            (dw,),
            (4, filter_size, 2, wide),
            (_P, _P, _P, _R),
            ((window, dim(2)), plain_map((3, 0)), plain_map((0, 1, 2))),
            contraction_body("f32", "f32", "f32"),
        )
    )
    return builder.build((x, dy), (dw,))


def scatter_consumer_example(
    scalar: str,
    background: str | None = "0.0 : f32",
    permuted: bool = False,
    reads_index: bool = False,
) -> Graph:
    """Op 1: an elementwise op over a scatter of x (tensor 0), with its own constant 3."""
    builder = GraphBuilder()
    x = builder.tensor((2, 3), "f32")
    wide = builder.tensor((5, 3), "f32")
    y = builder.tensor((3, 5) if permuted else (5, 3), "f32")
    builder.add(Scatter((x,), wide, ((1, 0),), (2, 1), background))
    body = Body(
        ("f32", "f32"),
        (
            ScalarOp("arith.constant", (), "f32", (("value", "3.0 : f32"),)),
            ScalarOp(scalar, (0, 2), "f32"),
        ),
        (3,),
    )
    if reads_index:
        body = Body(
            ("f32", "f32"),
            (
                ScalarOp("linalg.index", (), "index", (("dim", "0"),)),
                ScalarOp("arith.index_cast", (2,), "i32"),
                ScalarOp("arith.sitofp", (3,), "f32"),
                ScalarOp(scalar, (0, 4), "f32"),
            ),
            (5,),
        )
    written: IndexMap = plain_map((1, 0)) if permuted else identity_map(2)
    builder.add(
        Structured(
            (wide,), (Uninitialized(),), (y,), (5, 3), (_P, _P), (identity_map(2), written), body
        )
    )
    return builder.build((x,), (y,))


def scatter_reshape_example(split_strided: bool = False) -> Graph:
    """Op 1: a reshape of a scatter of x (tensor 0), through or beside its strided dim."""
    builder = GraphBuilder()
    x = builder.tensor((2, 2, 3), "f32")
    wide = builder.tensor((4, 2, 3), "f32")
    y = builder.tensor((8, 3) if split_strided else (4, 6), "f32")
    builder.add(Scatter((x,), wide, ((1, 0, 0),), (2, 1, 1), "0.0 : f32"))
    builder.add(Reshape(wide, y))
    return builder.build((x,), (y,))


def sliced_example(reads_index: bool = False, stride: int = 2) -> Graph:
    """Op 1: a strided slice of a matmul (or of row numbers) of x (tensor 0)."""
    builder = GraphBuilder()
    x, w = builder.tensor((6, 2), "f32"), builder.tensor((2, 5), "f32")
    y, part = builder.tensor((6, 5), "f32"), builder.tensor((2, 5), "f32")
    body = contraction_body("f32", "f32", "f32")
    if reads_index:
        body = Body(
            ("f32", "f32", "f32"),
            (
                ScalarOp("linalg.index", (), "index", (("dim", "0"),)),
                ScalarOp("arith.index_cast", (3,), "i32"),
                ScalarOp("arith.sitofp", (4,), "f32"),
                ScalarOp("arith.addf", (2, 5), "f32"),
            ),
            (6,),
        )
    builder.add(
        Structured(
            (x, w),
            (Fill("0.0 : f32"),),
            (y,),
            (6, 5, 2),
            (_P, _P, _R),
            (plain_map((0, 2)), plain_map((2, 1)), plain_map((0, 1))),
            body,
        )
    )
    builder.add(Slice(y, part, (1, 0), (stride, 1)))
    return builder.build((x, w), (part,))
