"""Steps that multiply and add: contractions with any maps."""

from __future__ import annotations

import math

from tests.fuzz.draw import Draw
from tests.fuzz.kinds.elementwise import computed
from tests.fuzz.kinds.movement import expanded, repeated, transposed
from tests.fuzz.kinds.shapes import (
    dims,
    fresh,
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

MOST_PRODUCTS = 60_000


def contraction(writer: Writer, draw: Draw) -> None:
    """A contraction where each dim of the first operand is batch, m, k, or something odd.

    Odd: read at a constant index, or along with another dim (a diagonal).
    """
    x = given(writer, draw, range(1, 5))
    need(x.element != "i1", "a number")
    loops: list[int] = []  # sizes
    letters: list[str] = []  # "b", "m", "n", "k" for each loop
    forms: list[str] = []
    for d, n in enumerate(x.shape):
        simplest = "k" if d == len(x.shape) - 1 else "m"
        role = draw.pick((simplest, simplest, simplest, "b", "k", "m", "constant", "diagonal"))
        same = [i for i, size in enumerate(loops) if size == n]
        if role == "diagonal" and same:
            forms.append(f"d{draw.pick(same)}")
            continue
        if role == "constant" and n:
            forms.append(str(draw.below(n)))
            continue
        loops.append(n)
        letters.append(role if role in "bkm" else "m")
        forms.append(f"d{len(loops) - 1}")
    need("k" in letters, "something to sum over")
    for _ in range(draw.pick((1, 1, 0, 2))):
        loops.append(draw.between(1, 7))
        letters.append("n")
    need(math.prod(loops) <= MOST_PRODUCTS, "few products")
    other_dims = draw.order([i for i, letter in enumerate(letters) if letter in "nkb"])
    other = of_type(writer, draw, [loops[d] for d in other_dims], x.element)
    other_forms = dims(other_dims)
    if draw.one_in(12):
        other = fresh(writer, draw, (*(loops[d] for d in other_dims), 3), x.element)
        other_forms = ", ".join([*(f"d{d}" for d in other_dims), str(draw.below(3))])
    made = [i for i, letter in enumerate(letters) if letter in "bmn"]
    made = list(draw.order(made)) if draw.one_in(3) else made
    _multiply(writer, draw, x, ", ".join(forms), other, other_forms, loops, letters, made)


def _multiply(
    writer: Writer,
    draw: Draw,
    x: Value,
    x_map: str,
    y: Value,
    y_map: str,
    loops: list[int],
    letters: list[str],
    made: list[int],
) -> None:
    out = widened(draw, x.element)
    sizes, result_map = tuple(loops[d] for d in made), dims(made)
    if made and draw.one_in(15):  # the diagonal of a result
        sizes, result_map = (*sizes, sizes[-1]), f"{result_map}, d{made[-1]}"
        writer.beyond_iree = True
    name, begin = start(writer, draw, sizes, out)
    terms = math.prod(n for n, letter in zip(loops, letters, strict=True) if letter == "k")
    accumulated = Value("", (), out, 1.0)
    bound, error, integral = summed(out, [x, y], max(terms, 1), begin, windowed=False)
    swapped = draw.one_in(4)
    reads = [Read(writer.read(x), x.type, x_map), Read(writer.read(y), y.type, y_map)]
    kinds = [x.element, y.element]
    if swapped:
        reads, kinds = reads[::-1], kinds[::-1]
    body, arguments = multiply_add(kinds[0], kinds[1], accumulated.element, draw.one_in(4))
    (result,) = writer.generic(
        reads,
        [Read(name, tensor_text(sizes, out), result_map)],
        "".join("r" if letter == "k" else "p" for letter in letters),
        body,
        arguments,
    )
    writer.define(result, sizes, out, bound, error, integral)


def matmul(writer: Writer, draw: Draw) -> None:
    """A named matmul or batch_matmul, with any init."""
    x = given(writer, draw, range(2, 4))
    need(x.element != "i1", "a number")
    *batch, _, k = x.shape
    _matmul(writer, draw, x, of_type(writer, draw, (*batch, k, draw.between(1, 8)), x.element))


def wide_matmul(writer: Writer, draw: Draw) -> None:
    """A matmul whose columns fill vectors, with weights; rows that tiles divide or do not."""
    m, k, n = draw.pick((1, 2, 4, 7, 8, 13, 19, 37)), draw.between(1, 6), draw.pick((16, 32, 64))
    element = draw.pick(("f32", "f32", "f16", "bf16", "i8"))
    x = of_type(writer, draw, (m, k), element)
    _matmul(writer, draw, x, writer.constant(whole_numbers(draw, (k, n)), element))


def expanded_contraction(writer: Writer, draw: Draw) -> None:
    """A contraction, its result with more dims, and one or two elementwise ops that read that."""
    draw.pick((contraction, contraction, matmul))(writer, draw)
    expanded(writer, draw, writer.values[-1])
    x = writer.values[-1]
    for _ in range(draw.between(1, 2)):
        computed(writer, draw, x)


def repeated_operand(writer: Writer, draw: Draw) -> None:
    """A batch matmul of few rows, of an operand that holds each batch several times."""
    element = draw.pick(("f32", "f32", "f16", "bf16", "i8"))
    k, n = draw.between(4, 8), draw.between(4, 8)
    repeated(writer, draw, of_type(writer, draw, (draw.between(1, 3), k, n), element))
    y = writer.values[-1]
    if draw.one_in(3):
        transposed(writer, draw, y, (0, 2, 1))
        y = writer.values[-1]
    batch, k, _ = y.shape
    _matmul(writer, draw, of_type(writer, draw, (batch, draw.between(1, 2), k), element), y)


def long_matmul(writer: Writer, draw: Draw) -> None:
    """A matmul with long sums and few results."""
    m, k, n = draw.between(1, 3), draw.pick((2048, 2050, 3075)), draw.between(1, 3)
    x = of_type(writer, draw, (m, k), "f32")
    _matmul(writer, draw, x, writer.constant(whole_numbers(draw, (k, n)), "f32"))


def _matmul(writer: Writer, draw: Draw, x: Value, y: Value) -> None:
    """The product of two tensors, with or without a batch."""
    out = widened(draw, x.element)
    (*batch, m, k), n = x.shape, y.shape[-1]
    sizes = (*batch, m, n)
    need(math.prod(sizes) * k <= MOST_PRODUCTS, "few products")
    name, begin = start(writer, draw, sizes, out)
    bound, error, integral = summed(out, [x, y], max(k, 1), begin, windowed=False)
    kind = tensor_text(sizes, out)
    result = writer.op(
        f"linalg.{'batch_matmul' if batch else 'matmul'} ins({writer.read(x)}, {writer.read(y)} : "
        f"{x.type}, {y.type}) outs({name} : {kind}) -> {kind}"
    )
    writer.define(result, sizes, out, bound, error, integral)


def sibling_matmuls(writer: Writer, draw: Draw) -> None:
    """Products of one tensor with weights of two or three widths, each with a bias or without."""
    x = given(writer, draw, range(2, 3))
    need(x.element in ("f32", "f16", "bf16"), "a float")
    m, k = x.shape
    widths = [draw.pick((1, 3, 5, 8, 16)) for _ in range(draw.between(2, 3))]
    need(m * k * max(widths) <= MOST_PRODUCTS, "few products")
    biased = draw.below(2)
    for n in widths:
        weights = writer.constant(whole_numbers(draw, (k, n)), x.element)
        kind = tensor_text((m, n), "f32")
        result, bound, error, integral = _product(writer, x, weights)
        if biased:
            bias = writer.constant(whole_numbers(draw, (n,)), "f32")
            into = writer.empty((m, n), "f32")
            (result,) = writer.generic(
                [Read(result, kind, "d0, d1"), Read(bias.name, bias.type, "d1")],
                [Read(into, kind, "d0, d1")],
                "pp",
                ["%r = arith.addf %x, %b : f32", "linalg.yield %r : f32"],
                ["%x: f32", "%b: f32", "%o: f32"],
            )
            bound += bias.bound
            error += 2.0**-23 * bound * (not integral)
        writer.define(result, (m, n), "f32", bound, error, integral)


def multiplied(writer: Writer, x: Value, y: Value) -> Value:
    """The product of two matrices, from zero, as a value that later steps may read."""
    result, bound, error, integral = _product(writer, x, y)
    return writer.define(result, (x.shape[0], y.shape[1]), "f32", bound, error, integral)


def _product(writer: Writer, x: Value, y: Value) -> tuple[str, float, float, bool]:
    """The product of two matrices, from zero: its name, and what is known of its numbers."""
    (m, k), n = x.shape, y.shape[1]
    name, kind = writer.fill(0, (m, n), "f32"), tensor_text((m, n), "f32")
    begin = Value(name, (m, n), "f32", 0.0)
    bound, error, integral = summed("f32", [x, y], max(k, 1), begin, windowed=False)
    result = writer.op(
        f"linalg.matmul ins({writer.read(x)}, {writer.read(y)} : {x.type}, {y.type}) "
        f"outs({name} : {kind}) -> {kind}"
    )
    return result, bound, error, integral


def quantized_matmul(writer: Writer, draw: Draw) -> None:
    """Numbers (q - zero point) * scale, multiplied as floats: integers in disguise."""
    m, k, n = draw.between(1, 6), draw.between(1, 8), draw.between(1, 6)
    sides = []
    for sizes in ((m, k), (k, n)):
        q = fresh(writer, draw, sizes, "i8")
        sides.append(_dequantized(writer, draw, q))
    x, y = sides
    name, begin = start(writer, draw, (m, n), "f32")
    bound, error, integral = summed("f32", [x, y], k, begin, windowed=False)
    kind = tensor_text((m, n), "f32")
    result = writer.op(
        f"linalg.matmul ins({writer.read(x)}, {writer.read(y)} : {x.type}, {y.type}) "
        f"outs({name} : {kind}) -> {kind}"
    )
    error += 64 * 2.0**-23 * bound
    writer.define(result, (m, n), "f32", bound, error, integral)


def _dequantized(writer: Writer, draw: Draw, q: Value) -> Value:
    zero, scale = draw.pick((0, 3, -1)), draw.pick((1, 2))
    into = writer.empty(q.shape, "f32")
    point, factor = writer.scalar(zero, "i32"), writer.scalar(scale, "f32")
    (name,) = writer.generic(
        [Read(q.name, q.type, "d0, d1")],
        [Read(into, tensor_text(q.shape, "f32"), "d0, d1")],
        "pp",
        [
            "%w = arith.extsi %x : i8 to i32",
            f"%d = arith.subi %w, {point} : i32",
            "%f = arith.sitofp %d : i32 to f32",
            f"%r = arith.mulf %f, {factor} : f32",
            "linalg.yield %r : f32",
        ],
        ["%x: i8", "%o: f32"],
    )
    return writer.define(name, q.shape, "f32", (q.bound + abs(zero)) * scale)
