"""Steps that fold elements together: reductions, pooling, several results at once."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tests.fuzz.draw import Draw
from tests.fuzz.kinds.shapes import dims, fresh, given, need, start
from tests.fuzz.value import Value, rounded, tensor_text
from tests.fuzz.writer import Read, Writer, summed

FLOAT_FOLDS = {
    "addf": 0.0,
    "maximumf": -math.inf,
    "minimumf": math.inf,
    "mulf": 1.0,
    "maxnumf": -math.inf,
}
INTEGER_FOLDS = {"addi": 0.0, "maxsi": -math.inf, "minsi": math.inf, "muli": 1.0, "ori": 0.0}


def _folds(x: Value) -> dict[str, float]:
    return FLOAT_FOLDS if x.floating else INTEGER_FOLDS


def _folded(fold: str, x: Value, terms: int, begin: Value) -> tuple[float, float, bool]:
    """Bound, error, wholeness of a fold of ``terms`` elements."""
    if fold.startswith("add"):
        return summed(x.element, [x], terms, begin, windowed=False)
    integral = x.integral and begin.integral
    if fold.startswith("mul"):
        need(terms <= 8 or not x.floating, "a short product")
        bound = max(x.bound, 1.0) ** min(terms, 60) * max(begin.bound, 1.0)
        error = terms * x.error * bound + begin.error * bound
        return bound, rounded(x.element, bound, error, integral, terms), integral
    bound = max(x.bound, begin.bound)
    return (2 * bound if fold == "ori" else bound), max(x.error, begin.error), integral


def reduction(writer: Writer, draw: Draw) -> None:
    """Some dims folded into a number each, as linalg.reduce or as a generic."""
    x = given(writer, draw, range(1, 6), ())
    need(x.element != "i1", "a number")
    rank = len(x.shape)
    _fold(writer, draw, x, sorted({draw.below(rank) for _ in range(draw.between(1, 2))}))


def long_rows(writer: Writer, draw: Draw) -> None:
    """Rows that lanes of vectors may share, or not, folded into a number each."""
    rows, length = draw.between(1, 3), draw.pick([64, 80, 96, 128, 130])
    _fold(writer, draw, fresh(writer, draw, (rows, length), draw.pick(["f32", "i32"])), [1])


def _fold(writer: Writer, draw: Draw, x: Value, folded: Sequence[int]) -> None:
    rank = len(x.shape)
    kept = [d for d in range(rank) if d not in folded]
    fold = draw.pick(list(_folds(x)))
    sizes = tuple(x.shape[d] for d in kept)
    name, begin = start(writer, draw, sizes, x.element, _folds(x)[fold])
    terms = math.prod(x.shape[d] for d in folded)
    bound, error, integral = _folded(fold, x, max(terms, 1), begin)
    kind = tensor_text(sizes, x.element)
    if draw.one_in(3):
        result = writer.op(
            f"linalg.reduce {{ arith.{fold} }} ins({writer.read(x)} : {x.type}) "
            f"outs({name} : {kind}) dimensions = {list(folded)}"
        )
    else:
        keep = draw.order(kept) if draw.one_in(3) and begin.name == name else tuple(kept)
        if tuple(x.shape[d] for d in keep) != sizes:
            keep = tuple(kept)
        (result,) = writer.generic(
            [Read(writer.read(x), x.type, dims(range(rank)))],
            [Read(name, kind, dims(keep))],
            "".join("r" if d in folded else "p" for d in range(rank)),
            [f"%s = arith.{fold} {draw.pick(('%x, %o', '%o, %x'))} : {x.element}",
             f"linalg.yield %s : {x.element}"],
            [f"%x: {x.element}", f"%o: {x.element}"],
        )  # fmt: skip
    writer.define(result, sizes, x.element, bound, error, integral)


def two_results(writer: Writer, draw: Draw) -> None:
    """Two folds in one op: the sum and the largest."""
    x = given(writer, draw, range(2, 5), ("f32", "i32", "f64"))
    folded = draw.below(len(x.shape))
    kept = [d for d in range(len(x.shape)) if d != folded]
    sizes, kind = tuple(x.shape[d] for d in kept), x.element
    add, largest = ("addf", "maximumf") if x.floating else ("addi", "maxsi")
    first, begin = start(writer, draw, sizes, kind)
    second, other = start(writer, draw, sizes, kind, -math.inf)
    bound, error, integral = _folded(add, x, x.shape[folded], begin)
    bound2, error2, integral2 = _folded(largest, x, x.shape[folded], other)
    tensor = tensor_text(sizes, kind)
    names = writer.generic(
        [Read(writer.read(x), x.type, dims(range(len(x.shape))))],
        [Read(first, tensor, dims(kept)), Read(second, tensor, dims(kept))],
        "".join("r" if d == folded else "p" for d in range(len(x.shape))),
        [
            f"%s = arith.{add} %x, %o : {kind}",
            f"%t = arith.{largest} %x, %q : {kind}",
            f"linalg.yield %s, %t : {kind}, {kind}",
        ],
        [f"%x: {kind}", f"%o: {kind}", f"%q: {kind}"],
    )
    writer.define(names[0], sizes, kind, bound, error, integral)
    writer.define(names[1], sizes, kind, bound2, error2, integral2)


def pooling(writer: Writer, draw: Draw) -> None:
    """Windows folded, channels first or last, named where there is a name."""
    x = given(writer, draw, range(3, 6))
    need(x.element != "i1", "a number")
    spatial = len(x.shape) - 2
    last = draw.below(2)
    at = list(range(1, 1 + spatial)) if last else list(range(2, 2 + spatial))
    fold = draw.pick(list(_folds(x)))
    taps, steps, dilations, outs = [], [], [], []
    for axis in at:
        n = x.shape[axis]
        tap, step = draw.between(1, 3), draw.pick((2, 1, 3, 2))
        dilation = draw.pick((1, 1, 2))
        need((tap - 1) * dilation + 1 <= n, "a window inside the image")
        taps.append(tap)
        steps.append(step)
        dilations.append(dilation)
        outs.append((n - (tap - 1) * dilation - 1) // step + 1)
    batch, channels = x.shape[0], x.shape[-1] if last else x.shape[1]
    sizes = (batch, *outs, channels) if last else (batch, channels, *outs)
    name, begin = start(writer, draw, sizes, x.element, _folds(x)[fold])
    bound, error, integral = _folded(fold, x, math.prod(taps), begin)
    window, kind = writer.empty(taps, x.element), tensor_text(sizes, x.element)
    rank = 2 + spatial
    windows = [
        f"d{axis} * {s} + d{rank + i} * {e}"
        for i, (axis, s, e) in enumerate(zip(at, steps, dilations, strict=True))
    ]
    reads = [windows[at.index(d)] if d in at else f"d{d}" for d in range(rank)]
    named = _named(fold, spatial, bool(last))
    if named and draw.below(2):
        attributes = ", ".join(
            f"{word} = dense<{values}> : tensor<{spatial}xi64>"
            for word, values in (("strides", steps), ("dilations", dilations))
        )
        wide = tensor_text(tuple(taps), x.element)
        result = writer.op(
            f"linalg.{named} {{{attributes}}} ins({writer.read(x)}, {window} : {x.type}, {wide}) "
            f"outs({name} : {kind}) -> {kind}"
        )
    else:
        (result,) = writer.generic(
            [
                Read(writer.read(x), x.type, ", ".join(reads)),
                Read(
                    window,
                    tensor_text(tuple(taps), x.element),
                    dims(range(rank, rank + spatial)),
                ),
            ],
            [Read(name, kind, dims(range(rank)))],
            "p" * rank + "r" * spatial,
            [f"%s = arith.{fold} %o, %x : {x.element}", f"linalg.yield %s : {x.element}"],
            [f"%x: {x.element}", f"%w: {x.element}", f"%o: {x.element}"],
        )
    writer.define(result, sizes, x.element, bound, error, integral)


def _named(fold: str, spatial: int, last: bool) -> str:
    if spatial != 2:
        return ""
    order = "nhwc" if last else "nchw"
    if fold in ("addf", "addi"):
        return f"pooling_{order}_sum"
    if fold in ("maximumf", "maxsi"):
        return f"pooling_{order}_max"
    return f"pooling_{order}_min" if fold in ("minimumf", "minsi") and last else ""
