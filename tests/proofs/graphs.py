"""The graphs that rules are proved on: sizes, offsets and margins are symbols of a path."""

from __future__ import annotations

import math
from collections.abc import Sequence

from layoutopt.ir.affine import Affine, IndexMap, affine, dim, identity_map, plain_map
from layoutopt.ir.graph import (
    Fill,
    FromTensor,
    Graph,
    GraphBuilder,
    Init,
    Insert,
    IteratorType,
    Op,
    Pad,
    Reshape,
    Scatter,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body, ScalarOp, contraction_body, copy_body, fill_body
from tests.proofs.paths import Paths, term

P, R = IteratorType.PARALLEL, IteratorType.REDUCTION
ZERO = "0.0 : f32"
Window = tuple[int | None, int | None, int]
"""Filter size, stride and dilation; None is a symbol."""


def size(paths: Paths, name: str) -> int:
    """A size of at least one."""
    return paths.symbol(name, 1)


def _given(paths: Paths, value: int | None, name: str) -> int:
    return size(paths, name) if value is None else value


def _start(builder: GraphBuilder, shape: Sequence[int], goes_on: bool) -> Init:
    return FromTensor(builder.tensor(shape, "f32")) if goes_on else Fill(ZERO)


def convolution(
    paths: Paths,
    windows: Sequence[Window],
    channels_last: bool = False,
    goes_on: bool = False,
    depthwise: bool = False,
) -> Graph:
    """Any batch, channels, filters, image and margin behind the last window."""
    rank = len(windows)
    n, c, f = (size(paths, x) for x in "ncf")
    images = [size(paths, "image") for _ in windows]
    taps = [_given(paths, k, "taps") for k, _, _ in windows]
    steps = [_given(paths, s, "stride") for _, s, _ in windows]
    reach = [
        (i - 1) * s + (k - 1) * d + 1 + paths.symbol("margin")
        for i, k, s, (_, _, d) in zip(images, taps, steps, windows, strict=True)
    ]
    image, inside = range(2, 2 + rank), range(3 + rank, 3 + 2 * rank)
    read = [
        affine([(i, s), (k, d)])
        for i, k, s, (_, _, d) in zip(image, inside, steps, windows, strict=True)
    ]
    if depthwise:
        return _depthwise(n, c, images, taps, reach, read)
    builder = GraphBuilder()
    x = builder.tensor((n, *reach, c) if channels_last else (n, c, *reach), "f32")
    w = builder.tensor((f, c, *taps), "f32")
    shape = (n, *images, f) if channels_last else (n, f, *images)
    y = builder.tensor(shape, "f32")
    init = _start(builder, shape, goes_on)
    image_map = (dim(0), *read, dim(2 + rank)) if channels_last else (dim(0), dim(2 + rank), *read)
    result_map = plain_map((0, *image, 1) if channels_last else (0, 1, *image))
    builder.add(
        Structured(
            (x, w),
            (init,),
            (y,),
            (n, f, *images, c, *taps),
            (P,) * (2 + rank) + (R,) * (1 + rank),
            (image_map, plain_map((1, 2 + rank, *inside)), result_map),
            contraction_body("f32", "f32", "f32"),
        )
    )
    return builder.build((x, w), (y,))


def _depthwise(
    n: int, c: int, images: list[int], taps: list[int], reach: list[int], read: list[Affine]
) -> Graph:
    rank = len(images)
    number = {d: d for d in range(2 + rank)} | {3 + rank + i: 2 + rank + i for i in range(rank)}
    builder = GraphBuilder()
    x = builder.tensor((n, c, *reach), "f32")
    w, y = builder.tensor((c, *taps), "f32"), builder.tensor((n, c, *images), "f32")
    window = tuple(form.renamed(number) for form in read)
    builder.add(
        Structured(
            (x, w),
            (Fill(ZERO),),
            (y,),
            (n, c, *images, *taps),
            (P,) * (2 + rank) + (R,) * rank,
            (
                (dim(0), dim(1), *window),
                plain_map((1, *range(2 + rank, 2 + 2 * rank))),
                identity_map(2 + rank),
            ),
            contraction_body("f32", "f32", "f32"),
        )
    )
    return builder.build((x, w), (y,))


def pooling(paths: Paths, window: tuple[int, int, int], combiner: str) -> Graph:
    """A pooling along one dim, with another tensor as init."""
    taps, stride, dilation = window
    n, image = size(paths, "n"), size(paths, "image")
    reach = (image - 1) * stride + (taps - 1) * dilation + 1 + paths.symbol("margin")
    builder = GraphBuilder()
    x, shape = builder.tensor((n, reach), "f32"), builder.tensor((taps,), "f32")
    y = builder.tensor((n, image), "f32")
    start = builder.tensor((n, image), "f32")
    body = Body(("f32",) * 3, (ScalarOp(combiner, (0, 2), "f32"),), (3,))
    maps = ((dim(0), affine([(1, stride), (2, dilation)])), plain_map([2]), plain_map((0, 1)))
    domain = (n, image, taps)
    builder.add(Structured((x, shape), (FromTensor(start),), (y,), domain, (P, P, R), maps, body))
    return builder.build((x, shape, start), (y,))


InteriorPadding = tuple[int, int, int, str]
"""Stride, offset, zeros behind the last element, and how it is written."""


def _interior_padded(
    builder: GraphBuilder, shape: Sequence[int], interior_padding: InteriorPadding, axis: int
) -> tuple[int, list[int]]:
    """A tensor of any such shape among zeros, along one dim; and the size of that."""
    stride, offset, behind, way = interior_padding
    strides, offsets, wide = [1] * len(shape), [0] * len(shape), list(shape)
    strides[axis], offsets[axis] = stride, offset
    wide[axis] = offset + (shape[axis] - 1) * stride + 1 + behind
    x, result = builder.tensor(shape, "f32"), builder.tensor(wide, "f32")
    if way == "scatter":
        builder.add(Scatter((x,), result, (tuple(offsets),), tuple(strides), ZERO))
        return result, wide
    filled = builder.tensor(wide, "f32")
    builder.add(_fill(filled, wide, ZERO))
    builder.add(Insert(x, filled, result, tuple(offsets), tuple(strides)))
    if way == "insert":
        return result, wide
    low, high = [0] * len(shape), [0] * len(shape)
    low[axis], high[axis] = 2, 1
    wide[axis] += 3
    padded = builder.tensor(wide, "f32")
    builder.add(Pad(result, padded, tuple(low), tuple(high), ZERO))
    return padded, wide


def _fill(tensor: int, shape: Sequence[int], value: str) -> Op:
    rank = len(shape)
    body = fill_body(value, "f32")
    domain = tuple(shape)
    return Structured(
        (), (Uninitialized(),), (tensor,), domain, (P,) * rank, (identity_map(rank),), body
    )


def interior_padded_convolution(
    paths: Paths,
    window: tuple[int, int, int],
    interior_padding: InteriorPadding,
    goes_on: bool = False,
    swapped: bool = False,
) -> Graph:
    """A convolution along an interior-padded dim; the last op."""
    taps, stride, dilation = window
    builder = GraphBuilder()
    c, f, small = (size(paths, x) for x in ("c", "f", "small"))
    wide, (_, reach) = _interior_padded(builder, (c, small), interior_padding, 1)
    paths.assume(term(reach) > (taps - 1) * dilation)
    image = (reach - (taps - 1) * dilation - 1) // stride + 1
    w, y = builder.tensor((f, c, taps), "f32"), builder.tensor((f, image), "f32")
    init = _start(builder, (f, image), goes_on)
    read: IndexMap = (dim(2), affine([(1, stride), (3, dilation)]))
    filters = plain_map((0, 2, 3))
    sources, maps = ((w, wide), (filters, read)) if swapped else ((wide, w), (read, filters))
    builder.add(
        Structured(
            sources,
            (init,),
            (y,),
            (f, image, c, taps),
            (P, P, R, R),
            (*maps, plain_map((0, 1))),
            contraction_body("f32", "f32", "f32"),
        )
    )
    return builder.build((wide, w), (y,))


def weight_gradient(
    paths: Paths, window: tuple[int, int, int], interior_padding: InteriorPadding
) -> Graph:
    """``dw[f, k, c] = sum_o x[s*o + d*k, c] * interior_padded(dy)[o, f]``; the last op."""
    taps, stride, dilation = window
    builder = GraphBuilder()
    f, c = size(paths, "f"), size(paths, "c")
    padded, (wide, _) = _interior_padded(builder, (size(paths, "small"), f), interior_padding, 0)
    reach = (wide - 1) * stride + (taps - 1) * dilation + 1
    x, dw = builder.tensor((reach, c), "f32"), builder.tensor((f, taps, c), "f32")
    builder.add(
        Structured(
            (x, padded),
            (Fill(ZERO),),
            (dw,),
            (f, taps, c, wide),
            (P, P, P, R),
            (
                (affine([(3, stride), (1, dilation)]), dim(2)),
                plain_map((3, 0)),
                plain_map((0, 1, 2)),
            ),
            contraction_body("f32", "f32", "f32"),
        )
    )
    return builder.build((x, padded), (dw,))


def scattered(paths: Paths, builder: GraphBuilder, stride: int, phases: bool) -> tuple[int, int]:
    """A scatter along dim 0 of two, and its size along it.

    One source in a background, or as many as the stride has phases and no background.
    """
    c = size(paths, "c")
    if not phases:
        offset, n = paths.symbol("offset"), size(paths, "n")
        wide = offset + (n - 1) * stride + 1 + paths.symbol("behind")
        x, result = builder.tensor((n, c), "f32"), builder.tensor((wide, c), "f32")
        builder.add(Scatter((x,), result, ((offset, 0),), (stride, 1), "-2.0 : f32"))
        return result, wide
    wide = paths.symbol("wide", stride)
    sources = [builder.tensor((-(-(wide - p) // stride), c), "f32") for p in range(stride)]
    result = builder.tensor((wide, c), "f32")
    places = tuple((p, 0) for p in range(stride))
    builder.add(Scatter(tuple(sources), result, places, (stride, 1), None))
    return result, wide


def scatter_consumer(paths: Paths, stride: int, phases: bool, kind: str, turned: bool) -> Graph:
    """An elementwise op on a scatter, alone or with a bias or a residual; the last op."""
    builder = GraphBuilder()
    wide, n = scattered(paths, builder, stride, phases)
    c = builder.types[wide].shape[1]
    y = builder.tensor((c, n) if turned else (n, c), "f32")
    sources, maps = [wide], [identity_map(2)]
    if kind in ("bias", "row"):
        kept = 1 if kind == "bias" else 0
        sources.append(builder.tensor(((n, c)[kept],), "f32"))
        maps.append(plain_map([kept]))
    elif kind in ("residual", "turned residual"):
        order = (0, 1) if kind == "residual" else (1, 0)
        sources.append(builder.tensor([(n, c)[d] for d in order], "f32"))
        maps.append(plain_map(order))
    elif kind == "twice":
        sources.append(wide)
        maps.append(identity_map(2))
    last = len(sources) + 1
    ops = [
        ScalarOp("arith.constant", (), "f32", (("value", "3.0 : f32"),)),
        ScalarOp("arith.subf", (0, last if last == 2 else 1), "f32"),
        ScalarOp("math.exp" if kind == "math" else "arith.negf", (last + 1,), "f32"),
    ]
    body = Body(("f32",) * last, tuple(ops), (last + 2,))
    written = plain_map((1, 0) if turned else (0, 1))
    builder.add(
        Structured(tuple(sources), (Uninitialized(),), (y,), (n, c), (P, P), (*maps, written), body)
    )
    return builder.build(sources, (y,))


def reshaped_scatter(paths: Paths, stride: int, phases: bool, way: str) -> Graph:
    """A scatter along dim 0 and a reshape of what is beside it; the last op."""
    builder = GraphBuilder()
    a, b = size(paths, "a"), size(paths, "b")
    n, offset = size(paths, "n"), paths.symbol("offset")
    wide = offset + (n - 1) * stride + 1 + paths.symbol("behind")
    inner = (a * b,) if way == "split" else (a, b)
    count = 2 if phases else 1
    xs = [builder.tensor((n, *inner), "f32") for _ in range(count)]
    wide = wide + count - 1
    result = builder.tensor((wide, *inner), "f32")
    places = tuple((offset + i, *(0 for _ in inner)) for i in range(count))
    builder.add(Scatter(tuple(xs), result, places, (stride, *(1 for _ in inner)), "-2.0 : f32"))
    shapes = {"merge": (wide, a * b), "split": (wide, a, b), "unit": (1, wide, 1, a, b)}
    y = builder.tensor(shapes[way], "f32")
    builder.add(Reshape(result, y))
    return builder.build(xs, (y,))


def expanded_contraction(paths: Paths, split: str, goes_on: bool, negated: bool = False) -> Graph:
    """A batch matmul, its result with some dims (of "bmn") split in two, and a reader of that.

    ``negated``: there is an elementwise op ahead of the reshape too.
    """
    builder = GraphBuilder()
    sizes = {
        x: (size(paths, x), size(paths, x)) if x in split else (size(paths, x),) for x in "bmn"
    }
    b, m, n = (math.prod(sizes[x]) for x in "bmn")
    k = size(paths, "k")
    x, w = builder.tensor((b, m, k), "f32"), builder.tensor((b, k, n), "f32")
    init = _start(builder, (b, m, n), goes_on)
    y = builder.tensor((b, m, n), "f32")
    maps = plain_map((0, 1, 3)), plain_map((0, 3, 2)), plain_map((0, 1, 2))
    body = contraction_body("f32", "f32", "f32")
    builder.add(Structured((x, w), (init,), (y,), (b, m, n, k), (P, P, P, R), maps, body))
    shape = tuple(n for x in "bmn" for n in sizes[x])
    z = builder.tensor(shape, "f32")
    builder.add(Reshape(_negated(builder, y) if negated else y, z))
    return builder.build((x, w), (z, _negated(builder, z)))


def _negated(builder: GraphBuilder, tensor: int) -> int:
    """Each element of a tensor with its sign changed."""
    shape = builder.types[tensor].shape
    made = builder.tensor(shape, "f32")
    points = identity_map(len(shape))
    body = Body(("f32", "f32"), (ScalarOp("arith.negf", (0,), "f32"),), (2,))
    kinds = (P,) * len(shape)
    builder.add(
        Structured((tensor,), (Uninitialized(),), (made,), shape, kinds, (points, points), body)
    )
    return made


def _cut(paths: Paths, builder: GraphBuilder, tensor: int, strides: Sequence[int]) -> Graph:
    """Any slice of a tensor with these strides."""
    kind = builder.types[tensor]
    sizes, offsets = [], []
    for n, stride in zip(kind.shape, strides, strict=True):
        offset, kept = paths.symbol("from"), size(paths, "kept")
        paths.assume(term(offset + (kept - 1) * stride) < term(n))
        offsets.append(offset)
        sizes.append(kept)
    part = builder.tensor(sizes, kind.element)
    builder.add(Slice(tensor, part, tuple(offsets), tuple(strides)))
    return builder.build((), (part,))


def sliced_scatter(paths: Paths, held: int, kept: int, phases: bool) -> Graph:
    """A slice with stride ``kept`` of a scatter with stride ``held``."""
    builder = GraphBuilder()
    wide, _ = scattered(paths, builder, held, phases)
    return _cut(paths, builder, wide, (kept, 1))


def sliced_op(paths: Paths, kind: str, strides: tuple[int, int]) -> Graph:
    """A slice of a matmul, a convolution, an elementwise op or a copy."""
    builder = GraphBuilder()
    n, m, k = (size(paths, x) for x in "nmk")
    if kind in ("elementwise", "copy"):
        x, b = builder.tensor((m, n), "f32"), builder.tensor((m,), "f32")
        y = builder.tensor((n, m), "f32")
        maps: tuple[IndexMap, ...] = (plain_map((1, 0)), plain_map([1]), identity_map(2))
        body = Body(("f32",) * 3, (ScalarOp("arith.subf", (0, 1), "f32"),), (3,))
        sources: tuple[int, ...] = (x, b)
        if kind == "copy":
            sources, maps, body = (x,), (maps[0], maps[2]), copy_body("f32")
        builder.add(Structured(sources, (Uninitialized(),), (y,), (n, m), (P, P), maps, body))
        return _cut(paths, builder, y, strides)
    taps = 3 if kind == "convolution" else 1
    x = builder.tensor((n + taps - 1, k), "f32")
    w, y = builder.tensor((k, taps, m), "f32"), builder.tensor((m, n), "f32")
    start = builder.tensor((m, n), "f32")
    read = affine([(1, 1), (3, 1)]) if taps > 1 else dim(1)
    builder.add(
        Structured(
            (x, w),
            (FromTensor(start),),
            (y,),
            (m, n, k, taps),
            (P, P, R, R),
            ((read, dim(2)), plain_map((2, 3, 0)), plain_map((0, 1))),
            contraction_body("f32", "f32", "f32"),
        )
    )
    return _cut(paths, builder, y, strides)


def padded(paths: Paths) -> Graph:
    """Any pad of two dims."""
    builder = GraphBuilder()
    shape = [size(paths, "n"), size(paths, "m")]
    low, high = ([paths.symbol(side) for _ in shape] for side in ("low", "high"))
    wide = [a + n + b for a, n, b in zip(low, shape, high, strict=True)]
    x, y = builder.tensor(shape, "f32"), builder.tensor(wide, "f32")
    builder.add(Pad(x, y, tuple(low), tuple(high), "4.0 : f32"))
    return builder.build((x,), (y,))


def one_scatter(paths: Paths, stride: int, phases: bool) -> Graph:
    """A scatter alone."""
    builder = GraphBuilder()
    scattered(paths, builder, stride, phases)
    return builder.build((), (len(builder.types) - 1,))


def inserted(paths: Paths, stride: int) -> Graph:
    """A strided insert into a fill; the last op."""
    builder = GraphBuilder()
    n, c, offset = size(paths, "n"), size(paths, "c"), paths.symbol("offset")
    wide = offset + (n - 1) * stride + 1 + paths.symbol("behind")
    x, into, y = (builder.tensor((k, c), "f32") for k in (n, wide, wide))
    builder.add(_fill(into, (wide, c), "4.0 : f32"))
    builder.add(Insert(x, into, y, (offset, 0), (stride, 1)))
    return builder.build((x,), (y,))
