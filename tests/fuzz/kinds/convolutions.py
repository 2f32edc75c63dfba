"""Steps with sliding windows that multiply and add: convolutions of all kinds."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tests.fuzz.draw import Draw
from tests.fuzz.kinds.contractions import MOST_PRODUCTS
from tests.fuzz.kinds.shapes import (
    given,
    multiply_add,
    need,
    of_type,
    start,
    whole_numbers,
    widened,
)
from tests.fuzz.value import Value, tensor_text
from tests.fuzz.writer import Read, Writer, summed


@dataclass(frozen=True)
class Windows:
    """Windows along the spatial dims of an image."""

    taps: tuple[int, ...]
    steps: tuple[int, ...]
    dilations: tuple[int, ...]
    outs: tuple[int, ...]


def _windows(draw: Draw, reach: tuple[int, ...]) -> Windows:
    style = draw.pick(("three", "three", "one", "patch", "any", "any"))
    found = []
    for n in reach:
        tap, step, dilation = 3, 1, 1
        if style == "one":
            tap, step = 1, draw.pick((1, 2, 3))
        elif style == "patch":
            tap = step = draw.pick((2, 3))
        elif style == "any":
            tap, step, dilation = draw.between(1, 4), draw.pick((1, 2, 3)), draw.pick((1, 1, 2))
        elif draw.one_in(4):
            step = 2
        while (tap - 1) * dilation + 1 > n:
            tap -= 1
        need(tap > 0, "an image that is not empty")
        found.append((tap, step, dilation, (n - (tap - 1) * dilation - 1) // step + 1))
    taps, steps, dilations, outs = zip(*found, strict=True)
    return Windows(taps, steps, dilations, outs)


def convolution(writer: Writer, draw: Draw) -> None:
    """1-D to 3-D, channels first or last, grouped, depthwise; filters in any order."""
    x = given(writer, draw, range(3, 6))
    need(x.element != "i1", "a number")
    kind = draw.pick(("plain", "plain", "plain", "depthwise", "grouped"))
    last = bool(draw.below(2))
    groups = 2 if kind == "grouped" else 1
    outer = 2 if kind == "grouped" else 1  # dims that channels take
    spatial = len(x.shape) - 1 - outer
    need(spatial > 0, "room for windows")
    inner = x.shape[-outer:] if last else x.shape[1 : 1 + outer]
    reach = x.shape[1 : 1 + spatial] if last else x.shape[1 + outer :]
    windows = _windows(draw, reach)
    features = draw.between(1, 6)
    if kind == "depthwise":
        _depthwise(writer, draw, x, windows, last)
        return
    # loops: n, [g], f, o.., c, k..
    names = ["n", *(["g"] * (groups - 1)), "f"]
    sizes = [x.shape[0], *inner[: outer - 1], features]
    image = list(range(len(sizes), len(sizes) + spatial))
    sizes += windows.outs
    channel = len(sizes)
    sizes.append(inner[-1])
    inside = list(range(len(sizes), len(sizes) + spatial))
    sizes += windows.taps
    need(math.prod(sizes) <= MOST_PRODUCTS, "few products")
    group = [1] if "g" in names else []
    feature = len(names) - 1
    reads = _read(windows, image, inside)
    channels = [f"d{d}" for d in (*group, channel)]
    x_map = ["d0", *reads, *channels] if last else ["d0", *channels, *reads]
    order = _filter_order(draw, group, feature, channel, inside)
    y = of_type(writer, draw, [sizes[d] for d in order], x.element)
    made = [0, *image, *group, feature] if last else [0, *group, feature, *image]
    shared = draw.one_in(30) and spatial == 2 and windows.taps[0] == windows.taps[1]
    if shared:  # one loop slides along both dims of the window
        x_map = [m.replace(f"d{inside[1]} ", f"d{inside[0]} ") for m in x_map]
    named = "" if shared else _named(x, last, kind, order, windows)
    _emit(writer, draw, x, x_map, y, order, made, sizes, named, windows)


def wide_convolution(writer: Writer, draw: Draw) -> None:
    """A convolution of floats whose features fill vectors, with constant filters."""
    last = bool(draw.below(2))
    outs = (draw.between(1, 4), draw.pick((1, 2, 3, 4, 5, 7)))
    taps = (draw.between(1, 3), draw.between(1, 3))
    steps, dilations = (draw.pick((1, 1, 2)), draw.pick((1, 1, 1, 2))), (1, draw.pick((1, 1, 2)))
    windows = Windows(taps, steps, dilations, outs)
    batch, features, channels = draw.pick((1, 1, 2)), draw.pick((16, 32, 64)), draw.between(1, 6)
    reach = [
        (out - 1) * step + (tap - 1) * dilation + 1 + draw.below(step)
        for out, step, tap, dilation in zip(outs, steps, taps, dilations, strict=True)
    ]
    sizes = [batch, features, *outs, channels, *taps]  # loops: n, f, o.., c, k..
    need(math.prod(sizes) <= MOST_PRODUCTS, "few products")
    shape = (batch, *reach, channels) if last else (batch, channels, *reach)
    x = of_type(writer, draw, shape, "f32")
    reads = _read(windows, [2, 3], [5, 6])
    x_map = ["d0", *reads, "d4"] if last else ["d0", "d4", *reads]
    order = _filter_order(draw, [], 1, 4, [5, 6])
    kernel = tuple(sizes[d] for d in order)
    y = writer.constant(whole_numbers(draw, kernel), "f32")
    made = [0, 2, 3, 1] if last else [0, 1, 2, 3]
    named = _named(x, last, "plain", order, windows)
    _emit(writer, draw, x, x_map, y, order, made, sizes, named, windows)


def _read(windows: Windows, image: list[int], inside: list[int]) -> list[str]:
    return [
        f"d{i} * {s} + d{k} * {e}"
        for i, k, s, e in zip(image, inside, windows.steps, windows.dilations, strict=True)
    ]


def _filter_order(
    draw: Draw, group: list[int], feature: int, channel: int, inside: list[int]
) -> list[int]:
    orders = (
        [*group, feature, channel, *inside],
        [*inside, *group, channel, feature],
        [*group, feature, *inside, channel],
        [*inside, *group, feature, channel],
    )
    return list(draw.pick(orders))


def _named(x: Value, last: bool, kind: str, order: list[int], windows: Windows) -> str:
    """The name of a plain convolution whose filter lies in one of the usual orders."""
    spatial = len(windows.taps)
    if kind != "plain" or spatial != 2:
        return ""
    found: dict[tuple[bool, tuple[int, ...]], str] = {
        (False, (1, 4, 5, 6)): "conv_2d_nchw_fchw",
        (True, (5, 6, 4, 1)): "conv_2d_nhwc_hwcf",
        (True, (1, 5, 6, 4)): "conv_2d_nhwc_fhwc",
    }
    return found.get((last, tuple(order)), "")


def _emit(
    writer: Writer,
    draw: Draw,
    x: Value,
    x_map: list[str],
    y: Value,
    order: list[int],
    made: list[int],
    sizes: list[int],
    named: str,
    windows: Windows,
) -> None:
    out = widened(draw, x.element)
    shape = tuple(sizes[d] for d in made)
    name, begin = start(writer, draw, shape, out)
    terms = math.prod(n for d, n in enumerate(sizes) if d not in made)
    bound, error, integral = summed(out, [x, y], max(terms, 1), begin, windowed=True)
    kind = tensor_text(shape, out)
    if named and draw.below(2):
        rank = len(windows.taps)
        attributes = ", ".join(
            f"{word} = dense<{list(values)}> : tensor<{rank}xi64>"
            for word, values in (("strides", windows.steps), ("dilations", windows.dilations))
        )
        result = writer.op(
            f"linalg.{named} {{{attributes}}} ins({writer.read(x)}, {writer.read(y)} : {x.type}, "
            f"{y.type}) outs({name} : {kind}) -> {kind}"
        )
        writer.define(result, shape, out, bound, error, integral)
        return
    reads = [
        Read(writer.read(x), x.type, ", ".join(x_map)),
        Read(writer.read(y), y.type, ", ".join(f"d{d}" for d in order)),
    ]
    kinds = [x.element, y.element]
    if draw.one_in(6):
        reads, kinds = reads[::-1], kinds[::-1]
    body, arguments = multiply_add(kinds[0], kinds[1], out)
    (result,) = writer.generic(
        reads,
        [Read(name, kind, ", ".join(f"d{d}" for d in made))],
        "".join("p" if d in made else "r" for d in range(len(sizes))),
        body,
        arguments,
    )
    writer.define(result, shape, out, bound, error, integral)


def _depthwise(writer: Writer, draw: Draw, x: Value, windows: Windows, last: bool) -> None:
    """Each channel by itself, with or without a multiplier."""
    spatial = len(windows.taps)
    channels = x.shape[-1] if last else x.shape[1]
    times = draw.pick((1, 1, 2))
    # loops: n, c, m, o.., k..
    sizes = [x.shape[0], channels, *([times] if times > 1 else [])]
    more = [2] if times > 1 else []
    image = list(range(len(sizes), len(sizes) + spatial))
    sizes += windows.outs
    inside = list(range(len(sizes), len(sizes) + spatial))
    sizes += windows.taps
    reads = _read(windows, image, inside)
    x_map = ["d0", *reads, "d1"] if last else ["d0", "d1", *reads]
    order = [*inside, 1, *more] if last or draw.below(2) else [1, *more, *inside]
    made = [0, *image, 1, *more] if last else [0, 1, *more, *image]
    y = of_type(writer, draw, [sizes[d] for d in order], x.element)
    named = ""
    if spatial == 2 and times == 1:
        named = "depthwise_conv_2d_nhwc_hwc" if last else ""
        if not last and order == [1, *inside]:
            named = "depthwise_conv_2d_nchw_chw"
    _emit(writer, draw, x, x_map, y, order, made, sizes, named, windows)
