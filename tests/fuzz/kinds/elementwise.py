"""Steps that compute each element from elements at its own place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.fuzz.draw import Draw
from tests.fuzz.kinds.shapes import dims, fresh, given, need, of_type
from tests.fuzz.value import EPSILON, Value, rounded, tensor_text, wrapped
from tests.fuzz.writer import Read, Writer


@dataclass(frozen=True)
class Number:
    """A scalar of a body, with what is known of it."""

    name: str
    element: str
    bound: float
    error: float
    integral: bool


class Scalars:
    """The body of a generic op under construction."""

    def __init__(self, writer: Writer, draw: Draw, rank: int) -> None:
        self.writer, self.draw, self.rank = writer, draw, rank
        self.lines: list[str] = []
        self.count = 0

    def add(
        self, text: str, element: str, bound: float, error: float = 0.0, integral: bool = True
    ) -> Number:
        """One op; its result is rounded to its type."""
        self.count += 1
        self.lines.append(f"%s{self.count} = {text}")
        error = rounded(element, bound, error, integral)
        return Number(f"%s{self.count}", element, wrapped(element, bound), error, integral)

    def constant(self, number: int, element: str) -> Number:
        """A number; it stands in the body, or in front of the op."""
        text = f"arith.constant {self.writer.number_text(number, element)} : {element}"
        if self.draw.below(2):
            return self.add(text, element, abs(number))
        return Number(self.writer.op(text), element, abs(number), 0.0, True)


def elementwise(writer: Writer, draw: Draw) -> None:
    """One to three scalar ops on a tensor, with one or two others beside it."""
    computed(writer, draw, given(writer, draw, range(0, 6)))


def computed(writer: Writer, draw: Draw, x: Value) -> None:
    """The same on a given tensor."""
    need(x.element != "i1", "a number")
    operands = [x]
    maps = [dims(range(len(x.shape)))]
    for _ in range(draw.pick((0, 1, 1, 2))):
        other, other_map = _beside(writer, draw, x)
        operands.append(other)
        maps.append(other_map)
    order = draw.order(range(len(x.shape))) if draw.one_in(4) else tuple(range(len(x.shape)))
    sizes = tuple(x.shape[d] for d in order)
    scalars = Scalars(writer, draw, len(x.shape))
    numbers = [
        Number(f"%x{i}", v.element, v.bound, v.error, v.integral) for i, v in enumerate(operands)
    ]
    found = numbers[0]
    for other_number in numbers[1:]:
        found = _combined(scalars, found, _cast(scalars, other_number, found.element), draw)
    for _ in range(draw.pick((0, 1, 1, 2) if len(numbers) > 1 else (1, 1, 2, 3))):
        found = _step(scalars, found, draw)
    if found.element == "i1":
        found = _cast(scalars, found, "i8")
    into, kind = writer.empty(sizes, found.element), tensor_text(sizes, found.element)
    reads = [Read(writer.read(v), v.type, m) for v, m in zip(operands, maps, strict=True)]
    if draw.one_in(6) and found.element == x.element and sizes == x.shape:
        into = writer.read(x)  # an output that is overwritten
        writer.beyond_iree |= writer.is_constant(x)
    arguments = [f"%x{i}: {v.element}" for i, v in enumerate(operands)]
    (name,) = writer.generic(
        reads,
        [Read(into, kind, dims(order))],
        "p" * len(sizes),
        [*scalars.lines, f"linalg.yield {found.name} : {found.element}"],
        [*arguments, f"%o: {found.element}"],
    )
    writer.define(name, sizes, found.element, found.bound, found.error, found.integral)


def _beside(writer: Writer, draw: Draw, x: Value) -> tuple[Value, str]:
    """Another operand: of the same shape, or over some of the dims."""
    kind = x.element
    way = draw.pick(("same", "bias", "scalar", "some"))
    if way == "same" or not x.shape:
        if draw.one_in(5):
            return x, dims(range(len(x.shape)))
        return of_type(writer, draw, x.shape, kind), dims(range(len(x.shape)))
    if way == "bias":
        d = draw.below(len(x.shape))
        return fresh(writer, draw, (x.shape[d],), kind), f"d{d}"
    if way == "scalar":
        return fresh(writer, draw, (), kind), ""
    kept = draw.order([d for d in range(len(x.shape)) if draw.below(2)])
    if draw.one_in(4):  # one element that all read
        return fresh(writer, draw, (1, *(x.shape[d] for d in kept)), kind), ", ".join(
            ["0", *(f"d{d}" for d in kept)]
        )
    return fresh(writer, draw, tuple(x.shape[d] for d in kept), kind), dims(kept)


def _combined(scalars: Scalars, a: Number, b: Number, draw: Draw) -> Number:
    kind, integral = a.element, a.integral and b.integral
    larger, error = max(a.bound, b.bound), a.error + b.error
    product_error = a.error * b.bound + b.error * a.bound + a.error * b.error
    if kind not in EPSILON:
        name = draw.pick(("addi", "subi", "muli", "maxsi", "minsi", "andi", "ori", "xori"))
        bounds = {"muli": a.bound * b.bound, "addi": a.bound + b.bound, "subi": a.bound + b.bound}
        return scalars.add(
            f"arith.{name} {a.name}, {b.name} : {kind}", kind, bounds.get(name, 2 * larger + 1)
        )
    name = draw.pick(("addf", "mulf", "subf", "maximumf", "minimumf", "select", "maxnumf"))
    if name == "select":
        need(a.error == 0.0 and b.error == 0.0, "exact numbers to compare")
        predicate = draw.pick(("ogt", "ole", "oeq", "une"))
        test = scalars.add(f"arith.cmpf {predicate}, {a.name}, {b.name} : {kind}", "i1", 1)
        return scalars.add(
            f"arith.select {test.name}, {a.name}, {b.name} : {kind}", kind, larger, 0.0, integral
        )
    if name == "mulf":
        bound, error = a.bound * b.bound, product_error
    else:
        bound = a.bound + b.bound if name in ("addf", "subf") else larger
    return scalars.add(f"arith.{name} {a.name}, {b.name} : {kind}", kind, bound, error, integral)


Unary = Callable[[Scalars, Number], Number]


def _relu(s: Scalars, x: Number) -> Number:
    zero = s.constant(0, x.element)
    name = "maximumf" if x.element in EPSILON else "maxsi"
    text = f"arith.{name} {x.name}, {zero.name} : {x.element}"
    return s.add(text, x.element, x.bound, x.error, x.integral)


def _shift(s: Scalars, x: Number) -> Number:
    number = s.draw.pick((1, -2, 3))
    one, suffix = s.constant(number, x.element), "f" if x.element in EPSILON else "i"
    bound = x.bound + abs(number)
    text = f"arith.add{suffix} {x.name}, {one.name} : {x.element}"
    return s.add(text, x.element, bound, x.error, x.integral)


def _scale(s: Scalars, x: Number) -> Number:
    number = s.draw.pick((2, -1, 3))
    factor, suffix = s.constant(number, x.element), "f" if x.element in EPSILON else "i"
    text = f"arith.mul{suffix} {x.name}, {factor.name} : {x.element}"
    return s.add(text, x.element, x.bound * 3, x.error * 3, x.integral)


def _square(s: Scalars, x: Number) -> Number:
    suffix = "f" if x.element in EPSILON else "i"
    text = f"arith.mul{suffix} {x.name}, {x.name} : {x.element}"
    error = (2 * x.bound + x.error) * x.error
    return s.add(text, x.element, x.bound**2, error, x.integral)


def _from_constant(s: Scalars, x: Number) -> Number:
    seven, suffix = s.constant(7, x.element), "f" if x.element in EPSILON else "i"
    text = f"arith.sub{suffix} {seven.name}, {x.name} : {x.element}"
    return s.add(text, x.element, x.bound + 7, x.error, x.integral)


def _compared(s: Scalars, x: Number) -> Number:
    need(x.error == 0.0, "exact numbers to compare")
    one = s.constant(1, x.element)
    floating = x.element in EPSILON
    predicate = "cmpf ogt" if floating else s.draw.pick(("cmpi sgt", "cmpi eq", "cmpi sle"))
    test = s.add(f"arith.{predicate}, {x.name}, {one.name} : {x.element}", "i1", 1)
    return _cast(s, test, s.draw.pick((x.element, "i32")))


def _math(s: Scalars, x: Number) -> Number:
    name = s.draw.pick(("tanh", "exp", "absf", "sqrt", "sin", "erf", "negf", "divf", "floor"))
    if x.element not in EPSILON:
        name = s.draw.pick(("shli", "trunc", "absi", "divsi"))
        return _integer_math(s, x, name)
    kind = x.element
    if name == "negf":
        return s.add(f"arith.negf {x.name} : {kind}", kind, x.bound, x.error, x.integral)
    if name == "absf":
        return s.add(f"math.absf {x.name} : {kind}", kind, x.bound, x.error, x.integral)
    if name == "floor":
        need(x.error == 0.0, "exact numbers to round")
        way = s.draw.pick(("floor", "roundeven"))
        return s.add(f"math.{way} {x.name} : {kind}", kind, x.bound + 1)
    if name == "divf":
        four = s.constant(4, kind)
        text = f"arith.divf {x.name}, {four.name} : {kind}"
        return s.add(text, kind, x.bound / 4, x.error / 4, False)
    if name == "sqrt":
        positive = _shift_up(s, s.add(f"math.absf {x.name} : {kind}", kind, x.bound, x.error))
        text = f"math.sqrt {positive.name} : {kind}"
        return s.add(text, kind, positive.bound**0.5, x.error, False)
    if name == "exp":
        need(x.bound <= 6, "small exponents")
        bound = 2.72**x.bound
        return s.add(f"math.exp {x.name} : {kind}", kind, bound, _approximate(x, bound), False)
    return s.add(f"math.{name} {x.name} : {kind}", kind, 1.0, _approximate(x, 1.2), False)


def _approximate(x: Number, slope: float) -> float:
    """Vectorized and scalar code approximate functions differently in the last digits."""
    return slope * (1.1 * x.error + 4 * max(EPSILON[x.element], EPSILON["f32"]))


def _shift_up(s: Scalars, x: Number) -> Number:
    one = s.constant(1, x.element)
    text = f"arith.addf {x.name}, {one.name} : {x.element}"
    return s.add(text, x.element, x.bound + 1, x.error, False)


def _integer_math(s: Scalars, x: Number, name: str) -> Number:
    kind = x.element
    if name == "absi":
        return s.add(f"math.absi {x.name} : {kind}", kind, x.bound)
    if name == "shli":
        one = s.constant(1, kind)
        return s.add(f"arith.shli {x.name}, {one.name} : {kind}", kind, 2 * x.bound)
    if name == "divsi":
        three = s.constant(3, kind)
        return s.add(f"arith.divsi {x.name}, {three.name} : {kind}", kind, x.bound)
    return _cast(s, x, "f32")


def _index(s: Scalars, x: Number) -> Number:
    name, suffix = s.add("linalg.index 0 : index", "index", 8), "f" if x.element in EPSILON else "i"
    i = s.add(f"arith.index_cast {name.name} : index to i32", "i32", 8)
    other = _cast(s, i, x.element)
    text = f"arith.add{suffix} {x.name}, {other.name} : {x.element}"
    return s.add(text, x.element, x.bound + 60, x.error, x.integral)


def _retyped(s: Scalars, x: Number) -> Number:
    return _cast(s, x, s.draw.pick(("f32", "f16", "i32", "bf16", "i8", "f64", "i64")))


UNARY: tuple[Unary, ...] = (
    _relu, _shift, _scale, _square, _from_constant, _math, _math, _compared, _retyped, _index,
)  # fmt: skip


def _step(s: Scalars, x: Number, draw: Draw) -> Number:
    if x.element == "i1":
        return _cast(s, x, "i32")
    step = draw.pick(UNARY)
    need(step is not _index or s.rank > 0, "a loop")
    return step(s, x)


def _cast(s: Scalars, x: Number, to: str) -> Number:
    """The number in another type; integers that the type does not hold wrap around."""
    if x.element == to:
        return x
    here, there = x.element in EPSILON, to in EPSILON
    if here and there:
        widens = EPSILON[to] < EPSILON[x.element]
        need({x.element, to} != {"f16", "bf16"}, "types of two widths")
        need(to != "f16" or x.bound < 3e4, "numbers that f16 holds")
        name = "extf" if widens else "truncf"
    elif here:
        need(x.error == 0.0 and x.bound < 100, "exact small numbers to make whole")
        name = "fptosi"
    elif there:
        need(to != "f16" or x.bound < 3e4, "numbers that f16 holds")
        name = "uitofp" if x.element == "i1" else "sitofp"
    else:
        widths = int(x.element[1:]), int(to[1:])
        name = "trunci" if widths[1] < widths[0] else "extui" if x.element == "i1" else "extsi"
    text = f"arith.{name} {x.name} : {x.element} to {to}"
    return s.add(text, to, x.bound, x.error, x.integral or not there)
