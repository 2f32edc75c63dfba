"""Steps in which products are multiplied, scaled and added up, and attention."""

from __future__ import annotations

from tests.fuzz.draw import Draw
from tests.fuzz.kinds.contractions import MOST_PRODUCTS, multiplied
from tests.fuzz.kinds.shapes import fresh, given, infinite, need, of_type, whole_numbers
from tests.fuzz.value import EPSILON, Value, rounded, tensor_text
from tests.fuzz.writer import Read, Writer, summed


def product_chain(writer: Writer, draw: Draw) -> None:
    """A matrix times two others; both constants, or one, or none."""
    x = _matrix(writer, draw)
    m, k = x.shape
    r, n = draw.between(1, 6), draw.between(1, 6)
    need(m * k * r + m * r * n <= MOST_PRODUCTS, "few products")
    first, second = (fresh(writer, draw, shape, "f32") for shape in ((k, r), (r, n)))
    multiplied(writer, multiplied(writer, x, first), second)


def scaled_matmul(writer: Writer, draw: Draw) -> None:
    """A matmul with weights, with a bias or without, and a factor."""
    x = _matrix(writer, draw)
    m, k = x.shape
    n = draw.between(1, 6)
    need(m * k * n <= MOST_PRODUCTS, "few products")
    y = multiplied(writer, x, writer.constant(whole_numbers(draw, (k, n)), "f32"))
    if draw.one_in(2):
        y = _pointwise(writer, "addf", y, writer.constant(whole_numbers(draw, (n,)), "f32"))
    axis = draw.below(2)
    if draw.one_in(2):
        factor = Value(writer.scalar(2, "f32"), (), "f32", 2.0)
    else:
        factor = writer.constant(whole_numbers(draw, ((m, n)[axis],)), "f32")
    _pointwise(writer, "mulf", y, factor, axis)


def summed_matmuls(writer: Writer, draw: Draw) -> None:
    """Two or three products of one matrix with weights, and a bias, added up."""
    x = _matrix(writer, draw)
    m, k = x.shape
    n = draw.between(1, 6)
    need(m * k * n <= MOST_PRODUCTS, "few products")
    total = multiplied(writer, x, writer.constant(whole_numbers(draw, (k, n)), "f32"))
    for _ in range(draw.between(1, 2)):
        other = multiplied(writer, x, writer.constant(whole_numbers(draw, (k, n)), "f32"))
        if draw.one_in(2):
            bias = writer.constant(whole_numbers(draw, (n,)), "f32")
            other = _pointwise(writer, "addf", other, bias)
        total = _pointwise(writer, "addf", total, other)


def branches(writer: Writer, draw: Draw) -> None:
    """Convolutions along rows with filters of three elements and of one, added up."""
    x = _matrix(writer, draw)
    size, channels = x.shape
    filters = draw.between(1, 4)
    need(size * channels * filters * 3 <= MOST_PRODUCTS, "few products")
    kind = tensor_text((size + 2, channels), "f32")
    zero = writer.scalar(0, "f32")
    padded = writer.op(
        f"tensor.pad {writer.read(x)} low[1, 0] high[1, 0] {{\n  ^bb0(%i: index, %j: index):\n"
        f"    tensor.yield {zero} : f32\n  }} : {x.type} to {kind}"
    )
    images = {3: Value(padded, (size + 2, channels), "f32", x.bound, x.error, x.integral), 1: x}
    parts = []
    for taps in draw.order((3, 1)):
        image = images[taps]
        weights = writer.constant(whole_numbers(draw, (taps, channels, filters)), "f32")
        shape = (size, filters)
        into = writer.fill(0, shape, "f32")
        bound, error, integral = summed(
            "f32", [image, weights], max(taps * channels, 1), Value(into, shape, "f32", 0.0),
            windowed=True,
        )  # fmt: skip
        (result,) = writer.generic(
            [
                Read(image.name, image.type, "d0 + d2, d3"),
                Read(weights.name, weights.type, "d2, d3, d1"),
            ],
            [Read(into, tensor_text(shape, "f32"), "d0, d1")],
            "pprr",
            [
                "%p = arith.mulf %x, %y : f32",
                "%s = arith.addf %o, %p : f32",
                "linalg.yield %s : f32",
            ],
            ["%x: f32", "%y: f32", "%o: f32"],
        )
        parts.append(writer.define(result, shape, "f32", bound, error, integral))
    _pointwise(writer, "addf", parts[0], parts[1])


def side_by_side(writer: Writer, draw: Draw) -> None:
    """A product of two matrices side by side with weights."""
    x = _matrix(writer, draw)
    rows, n = x.shape[0], draw.between(1, 6)
    other = of_type(writer, draw, (rows, draw.between(1, 4)), "f32")
    shape = (rows, x.shape[1] + other.shape[1])
    need(rows * shape[1] * n <= MOST_PRODUCTS, "few products")
    name = writer.op(
        f"tensor.concat dim(1) {writer.read(x)}, {writer.read(other)} : "
        f"({x.type}, {other.type}) -> {tensor_text(shape, 'f32')}"
    )
    whole = writer.define(
        name, shape, "f32", max(x.bound, other.bound), max(x.error, other.error),
        x.integral and other.integral,
    )  # fmt: skip
    multiplied(writer, whole, writer.constant(whole_numbers(draw, (shape[1], n)), "f32"))


def attention(writer: Writer, draw: Draw) -> None:
    """One head, whose queries may be there already, or that is of sizes like those of models."""
    if draw.one_in(2):
        query = fresh(writer, draw, (draw.between(17, 40), draw.between(1, 4)), "f32")
        along, n = draw.between(17, 40), draw.between(1, 5)
    else:
        query = _matrix(writer, draw)
        along, n = draw.between(1, 5), draw.between(1, 5)
    m, inner = query.shape
    key = of_type(writer, draw, (along, inner), "f32")
    scores = query.bound * key.bound * inner
    need(0 < scores < 30, "small scores")
    value = of_type(writer, draw, (along, n), "f32")
    kind = tensor_text((m, n), "f32")
    into, scale = writer.empty((m, n), "f32"), writer.scalar(1, "f32")
    loops = "affine_map<(d0, d1, d2, d3) -> "
    maps = ", ".join(f"{loops}({r})>" for r in ("d0, d2", "d3, d2", "d3, d1", "", "d0, d1"))
    result = writer.op(
        f"iree_linalg_ext.attention <indexing_maps = [{maps}]> "
        f"ins({writer.read(query)}, {writer.read(key)}, {writer.read(value)}, {scale} : "
        f"{query.type}, {key.type}, {value.type}, f32) outs({into} : {kind}) {{\n"
        f"  ^bb0(%p: f32):\n    iree_linalg_ext.yield %p : f32\n  }} -> {kind}"
    )
    apart = inner * (query.error * key.bound + key.error * query.bound)
    apart += 256 * EPSILON["f32"] * (1 + scores)
    writer.define(result, (m, n), "f32", value.bound, 2 * apart * value.bound + value.error, False)


def attention_parts(writer: Writer, draw: Draw) -> None:
    """The same written as two products with a softmax between them."""
    query = _matrix(writer, draw)
    m, inner = query.shape
    along, n = draw.between(1, 5), draw.between(1, 5)
    key, value = (of_type(writer, draw, s, "f32") for s in ((inner, along), (along, n)))
    size = query.bound * key.bound * inner
    need(0 < size < 30, "small scores")
    scores = multiplied(writer, query, key)
    highest = _folded(writer, "maximumf", scores.name, (m, along))
    less = _rows(writer, "arith.subf %x, %y", (scores.name, highest), (m, along))
    powers = _rows(writer, "math.exp %x", (less,), (m, along))
    total = _folded(writer, "addf", powers, (m, along))
    name = _rows(writer, "arith.divf %x, %y", (powers, total), (m, along))
    apart = 2 * scores.error + 256 * EPSILON["f32"] * (1 + size)
    shares = writer.define(name, (m, along), "f32", 1.0, apart, False)
    multiplied(writer, shares, value)


def _folded(writer: Writer, fold: str, x: str, shape: tuple[int, int]) -> str:
    """The rows of a matrix folded into a number each."""
    if fold == "addf":
        begin = writer.fill(0, shape[:1], "f32")
    else:
        begin = infinite(writer, -1, shape[:1], "f32")
    (result,) = writer.generic(
        [Read(x, tensor_text(shape, "f32"), "d0, d1")],
        [Read(begin, tensor_text(shape[:1], "f32"), "d0")],
        "pr",
        [f"%r = arith.{fold} %x, %o : f32", "linalg.yield %r : f32"],
        ["%x: f32", "%o: f32"],
    )
    return result


def _rows(writer: Writer, made: str, names: tuple[str, ...], shape: tuple[int, int]) -> str:
    """What is made of each element of a matrix, and of a number for its row."""
    kind = tensor_text(shape, "f32")
    reads = [Read(names[0], kind, "d0, d1")]
    reads += [Read(name, tensor_text(shape[:1], "f32"), "d0") for name in names[1:]]
    (result,) = writer.generic(
        reads,
        [Read(writer.empty(shape, "f32"), kind, "d0, d1")],
        "pp",
        [f"%r = {made} : f32", "linalg.yield %r : f32"],
        [*(f"{name}: f32" for name in ("%x", "%y")[: len(names)]), "%o: f32"],
    )
    return result


def _matrix(writer: Writer, draw: Draw) -> Value:
    x = given(writer, draw, range(2, 3), ("f32",))
    need(x.size > 0, "elements")
    return x


def _pointwise(writer: Writer, name: str, x: Value, other: Value, axis: int = 1) -> Value:
    """A sum or product of a matrix and a number, a vector along one dim, or another matrix."""
    kind = tensor_text(x.shape, "f32")
    reads = [Read(writer.read(x), x.type, "d0, d1")]
    arguments, operand = ["%x: f32"], other.name
    if other.shape:
        reads.append(
            Read(other.name, other.type, "d0, d1" if len(other.shape) == 2 else f"d{axis}")
        )
        arguments.append("%y: f32")
        operand = "%y"
    (result,) = writer.generic(
        reads,
        [Read(writer.empty(x.shape, "f32"), kind, "d0, d1")],
        "pp",
        [f"%r = arith.{name} %x, {operand} : f32", "linalg.yield %r : f32"],
        [*arguments, "%o: f32"],
    )
    integral = x.integral and other.integral
    if name == "addf":
        bound, error = x.bound + other.bound, x.error + other.error
    else:
        bound = x.bound * other.bound
        error = x.error * other.bound + other.error * x.bound
    error = rounded("f32", bound, error, integral)
    return writer.define(result, x.shape, "f32", bound, error, integral)
