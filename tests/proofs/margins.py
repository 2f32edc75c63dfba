"""Convolutions of an image among zeros."""

from __future__ import annotations

from layoutopt.ir.affine import affine, dim, plain_map
from layoutopt.ir.graph import Fill, Graph, GraphBuilder, Pad, Structured
from layoutopt.ir.scalar import contraction_body
from tests.proofs.graphs import ZERO, P, R, size
from tests.proofs.paths import Paths, term


def padded_convolution(paths: Paths, window: tuple[int, int, int]) -> Graph:
    """A convolution along a dim with any margins; the last op. Windows may end before the image."""
    taps, stride, dilation = window
    builder = GraphBuilder()
    c, f, small, image = (size(paths, x) for x in ("c", "f", "small", "image"))
    low = paths.symbol("low")
    reach = (image - 1) * stride + (taps - 1) * dilation + 1 + paths.symbol("rest")
    paths.assume(term(reach) >= term(small + low))
    x, padded = builder.tensor((c, small), "f32"), builder.tensor((c, reach), "f32")
    builder.add(Pad(x, padded, (0, low), (0, reach - small - low), ZERO))
    w, y = builder.tensor((f, c, taps), "f32"), builder.tensor((f, image), "f32")
    read = (dim(2), affine([(1, stride), (3, dilation)]))
    builder.add(
        Structured(
            (padded, w),
            (Fill(ZERO),),
            (y,),
            (f, image, c, taps),
            (P, P, R, R),
            (read, plain_map((0, 2, 3)), plain_map((0, 1))),
            contraction_body("f32", "f32", "f32"),
        )
    )
    return builder.build((padded, w), (y,))
