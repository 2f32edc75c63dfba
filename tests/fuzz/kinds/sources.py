"""Steps that work on nothing: arguments and constants."""

from __future__ import annotations

from tests.fuzz.draw import Draw
from tests.fuzz.kinds.shapes import element, fresh, shape, whole_numbers
from tests.fuzz.writer import Writer


def argument(writer: Writer, draw: Draw) -> None:
    """An argument of rank 0 to 5."""
    rank = draw.pick((2, 4, 3, 4, 1, 5, 0))
    value = writer.argument(shape(draw, rank, 7), element(draw))
    writer.values.append(value)


def image(writer: Writer, draw: Draw) -> None:
    """An argument that is large enough for windows: one batch, few channels."""
    spatial = draw.pick((2, 2, 1, 3))
    reach = [draw.between(3, 10 if spatial < 3 else 6) for _ in range(spatial)]
    batch, channels = draw.between(1, 2), draw.between(1, 5)
    last = draw.below(2)
    sizes = [batch, *reach, channels] if last else [batch, channels, *reach]
    writer.values.append(writer.argument(sizes, element(draw)))


def constant(writer: Writer, draw: Draw) -> None:
    """A constant that steps work on like on any value."""
    kind = element(draw)
    value = writer.constant(whole_numbers(draw, shape(draw, draw.pick((2, 1, 3, 4, 0)))), kind)
    writer.values.append(value)


def filled(writer: Writer, draw: Draw) -> None:
    """A tensor of one value, known ahead of time or read from an argument."""
    kind, sizes = element(draw), shape(draw, draw.pick((2, 3, 4, 1, 0)))
    if not draw.one_in(2):
        number = draw.pick((0, 1, -2))
        writer.define(writer.fill(number, sizes, kind), sizes, kind, float(abs(number)))
        return
    source = fresh(writer, draw, (), kind)
    scalar = writer.op(f"tensor.extract {source.name}[] : {source.type}")
    into = writer.empty(sizes, kind)
    result = writer.define("", sizes, kind, source.bound)
    writer.values.pop()
    name = writer.op(
        f"linalg.fill ins({scalar} : {kind}) outs({into} : {result.type}) -> {result.type}"
    )
    writer.define(name, sizes, kind, source.bound)
