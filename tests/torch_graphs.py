"""Gradients of convolutions in named ops of linalg, as text.

Input gradient: the filter is flipped by index and transposed, the output gradient is inserted with
a stride into a filled tensor, then convolved with stride 1. Weight gradient: the input, channels
first, convolved with the output gradient as a filter that is dilated by the stride.
"""

from __future__ import annotations

from collections.abc import Sequence

_NAMES = {1: "conv_1d_ncw_fcw", 2: "conv_2d_nchw_fchw", 3: "conv_3d_ncdhw_fcdhw"}


def tensor(shape: Sequence[int], element: str = "f32") -> str:
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def _window(values: Sequence[int]) -> str:
    return f"dense<{list(values)}> : tensor<{len(values)}xi64>"


def input_gradient(
    small: Sequence[int],
    taps: int,
    stride: int,
    padding: int,
    dilation: int = 1,
    groups: int = 1,
    output_padding: int = 0,
    channels: tuple[int, int] = (2, 3),
) -> str:
    """dx from dy ``[1, groups * k, *small]`` and a filter ``[groups * k, c, taps..]``."""
    rank = len(small)
    c, k = channels
    reach = dilation * (taps - 1)
    wide = [(n - 1) * stride + 1 + 2 * (reach - padding) + output_padding for n in small]
    out = [n - reach for n in wide]
    dy, spread = [1, groups * k, *small], [1, groups * k, *wide]
    filters, turned = [groups * k, c, *[taps] * rank], [groups * c, k, *[taps] * rank]
    split = [groups, k, c, *[taps] * rank]
    dims = [f"d{i}" for i in range(rank + 3)]
    all_dims = ", ".join(dims)
    flips = "\n".join(f"      %p{i} = arith.subi %last, %i{3 + i} : index" for i in range(rank))
    places = ", ".join(f"%p{i}" for i in range(rank))
    loops = ", ".join(['"parallel"'] * (rank + 3))
    five = [groups, c, k, *[taps] * rank]
    tail = [[2 + i] for i in range(1, rank + 1)]
    text = f"""func.func @f(%dy: {tensor(dy)}, %w: {tensor(filters)}) -> {tensor([1, groups * c, *out])} {{
      %zero = arith.constant 0.0 : f32
      %last = arith.constant {taps - 1} : index
      %ws = tensor.expand_shape %w {[[0, 1], [2], *tail]} output_shape {split} : {tensor(filters)} into {tensor(split)}
      %fe = tensor.empty() : {tensor(five)}
      %flip = linalg.generic {{indexing_maps = [affine_map<({all_dims}) -> ({all_dims})>], iterator_types = [{loops}]}} outs(%fe : {tensor(five)}) {{
      ^bb0(%o: f32):
{chr(10).join(f"      %i{d} = linalg.index {d} : index" for d in range(rank + 3))}
{flips}
      %e = tensor.extract %ws[%i0, %i2, %i1, {places}] : {tensor(split)}
      linalg.yield %e : f32
      }} -> {tensor(five)}
      %ze = tensor.empty() : {tensor(spread)}
      %zeros = linalg.fill ins(%zero : f32) outs(%ze : {tensor(spread)}) -> {tensor(spread)}
      %x = tensor.insert_slice %dy into %zeros{[0, 0, *[reach - padding] * rank]} {dy} {[1, 1, *[stride] * rank]} : {tensor(dy)} into {tensor(spread)}
"""  # noqa: E501
    attributes = f"{{dilations = {_window([dilation] * rank)}, strides = {_window([1] * rank)}}}"
    if groups == 1:
        result = [1, c, *out]
        text += f"""
      %wt = tensor.collapse_shape %flip {[[0, 1], [2], *tail]} : {tensor(five)} into {tensor(turned)}
      %ye = tensor.empty() : {tensor(result)}
      %init = linalg.fill ins(%zero : f32) outs(%ye : {tensor(result)}) -> {tensor(result)}
      %y = linalg.{_NAMES[rank]} {attributes} ins(%x, %wt : {tensor(spread)}, {tensor(turned)}) outs(%init : {tensor(result)}) -> {tensor(result)}
      return %y : {tensor(result)}
    }}"""  # noqa: E501
        return text
    assert rank == 2, "torch-mlir names grouped convolutions in 2-D only"
    result, whole = [1, groups, c, *out], [1, groups * c, *out]
    grouped = [1, groups, k, *wide]
    text += f"""
      %xg = tensor.expand_shape %x [[0], [1, 2], [3], [4]] output_shape {grouped} : {tensor(spread)} into {tensor(grouped)}
      %ye = tensor.empty() : {tensor(result)}
      %init = linalg.fill ins(%zero : f32) outs(%ye : {tensor(result)}) -> {tensor(result)}
      %y = linalg.conv_2d_ngchw_gfchw {attributes} ins(%xg, %flip : {tensor(grouped)}, {tensor(five)}) outs(%init : {tensor(result)}) -> {tensor(result)}
      %r = tensor.collapse_shape %y [[0], [1, 2], [3], [4]] : {tensor(result)} into {tensor(whole)}
      return %r : {tensor(whole)}
    }}"""  # noqa: E501
    return text


def weight_gradient(
    small: Sequence[int], taps: int, stride: int, dilation: int = 1, interior_padded: bool = False
) -> str:
    """dw from x ``[c, n, ..]`` and dy ``[k, n, *small]``.

    ``interior_padded``: dy is padded first, as other importers do, in place of a dilated filter.
    """
    rank = len(small)
    n, c, k = 2, 3, 2
    image = [(s - 1) * stride + 1 + (taps - 1) * dilation for s in small]
    x, dy, dw = [c, n, *image], [k, n, *small], [c, k, *[taps] * rank]
    spread = [k, n, *[(s - 1) * stride + 1 for s in small]]
    name, kind, dilated = "%dy", dy, stride
    text = f"""func.func @f(%x: {tensor(x)}, %dy: {tensor(dy)}) -> {tensor(dw)} {{
      %zero = arith.constant 0.0 : f32
      %ye = tensor.empty() : {tensor(dw)}
      %init = linalg.fill ins(%zero : f32) outs(%ye : {tensor(dw)}) -> {tensor(dw)}
"""
    if interior_padded:
        text += f"""
      %zeros = arith.constant dense<0.0> : {tensor(spread)}
      %s = tensor.insert_slice %dy into %zeros{[0] * (rank + 2)} {dy} {[1, 1, *[stride] * rank]} : {tensor(dy)} into {tensor(spread)}
"""  # noqa: E501
        name, kind, dilated = "%s", spread, 1
    attributes = (
        f"{{dilations = {_window([dilated] * rank)}, strides = {_window([dilation] * rank)}}}"
    )
    return (
        text
        + f"""
      %y = linalg.{_NAMES[rank]} {attributes} ins(%x, {name} : {tensor(x)}, {tensor(kind)}) outs(%init : {tensor(dw)}) -> {tensor(dw)}
      return %y : {tensor(dw)}
    }}"""  # noqa: E501
    )
