"""Write a scatter: a chain of strided inserts, or one generic with index arithmetic."""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.ir.affine import identity_map, map_text
from layoutopt.ir.scatter import Scatter
from layoutopt.ir.size import Size
from layoutopt.ir.size_values import empty_text, index_text, list_text
from layoutopt.ir.types import TensorType


def scatter_lines(op: Scatter, types: Sequence[TensorType]) -> list[str]:
    """The lines of one scatter."""
    return _computed(op, types) if op.computed else _inserted(op, types)


def _inserted(op: Scatter, types: Sequence[TensorType]) -> list[str]:
    kind = types[op.result]
    name = f"%t{op.result}"
    lines = [f"  {name}_empty = {empty_text(kind)}"]
    into = f"{name}_empty"
    if op.background is not None:
        lines.append(f"  {name}_scalar = arith.constant {op.background}")
        lines.append(
            f"  {name}_init = linalg.fill ins({name}_scalar : {kind.element}) "
            f"outs({into} : {kind}) -> {kind}"
        )
        into = f"{name}_init"
    last = len(op.sources) - 1
    for i, (source, offsets) in enumerate(zip(op.sources, op.offsets, strict=True)):
        after = name if i == last else f"{name}_{i}"
        sizes = list_text(types[source].shape)
        lines.append(
            f"  {after} = tensor.insert_slice %t{source} into {into}{list_text(offsets)} {sizes} "
            f"{list(op.strides)} : {types[source]} into {kind}"
        )
        into = after
    return lines


class _Body:
    """The region of a computed scatter, one line at a time."""

    def __init__(self, rank: int) -> None:
        self.lines: list[str] = []
        self.constants: dict[int, str] = {}
        self.index = [self.value(f"linalg.index {d} : index") for d in range(rank)]

    def value(self, text: str) -> str:
        name = f"%v{len(self.lines)}"
        self.lines.append(f"    {name} = {text}")
        return name

    def number(self, value: int) -> str:
        if isinstance(value, Size):
            return index_text(value)
        if value not in self.constants:
            self.constants[value] = self.value(f"arith.constant {value} : index")
        return self.constants[value]


def _computed(op: Scatter, types: Sequence[TensorType]) -> list[str]:
    kind = types[op.result]
    rank = len(kind.shape)
    body = _Body(rank)
    found = None if op.background is None else body.value(f"arith.constant {op.background}")
    for place in range(len(op.sources)):
        found = _select(op, place, types, body, found)
    maps = map_text(identity_map(rank), rank)
    loops = ", ".join('"parallel"' for _ in range(rank))
    name = f"%t{op.result}"
    return [
        f"  {name}_empty = {empty_text(kind)}",
        f"  {name} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{loops}]}} "
        f"outs({name}_empty : {kind}) {{",
        f"  ^bb0(%out: {kind.element}):",
        *body.lines,
        f"    linalg.yield {found} : {kind.element}",
        f"  }} -> {kind}",
    ]


def _select(
    op: Scatter, place: int, types: Sequence[TensorType], body: _Body, otherwise: str | None
) -> str:
    """The element of the source at ``place`` where it has one here, else what was found before."""
    tensor, offsets = op.sources[place], op.offsets[place]
    source, kind = types[tensor], types[op.result]
    places: list[str] = []
    tests: list[str] = []
    for d, n in enumerate(source.shape):
        if offsets[d] == 0 and op.strides[d] == 1 and n == kind.shape[d]:
            places.append(body.index[d])
            continue
        inside, valid = _place(body, body.index[d], offsets[d], op.strides[d], n)
        places.append(inside)
        tests += valid
    element = body.value(f"tensor.extract %t{tensor}[{', '.join(places)}] : {source}")
    if not tests or otherwise is None:
        return element
    valid_here = tests[0]
    for test in tests[1:]:
        valid_here = body.value(f"arith.andi {valid_here}, {test} : i1")
    return body.value(f"arith.select {valid_here}, {element}, {otherwise} : {kind.element}")


def _place(body: _Body, index: str, offset: int, stride: int, size: int) -> tuple[str, list[str]]:
    """The clamped index into the source along one dim, and what must hold for it to count."""
    zero = body.number(0)
    shifted = index
    tests: list[str] = []
    if offset:
        shifted = body.value(f"arith.subi {index}, {body.number(offset)} : index")
        tests.append(body.value(f"arith.cmpi sge, {shifted}, {zero} : index"))
    place = shifted
    if stride > 1:
        if stride & (stride - 1):
            rest = body.value(f"arith.remsi {shifted}, {body.number(stride)} : index")
            place = body.value(f"arith.divsi {shifted}, {body.number(stride)} : index")
        else:
            mask, shift = body.number(stride - 1), body.number(stride.bit_length() - 1)
            rest = body.value(f"arith.andi {shifted}, {mask} : index")
            place = body.value(f"arith.shrsi {shifted}, {shift} : index")
        tests.append(body.value(f"arith.cmpi eq, {rest}, {zero} : index"))
    last = body.number(size - 1)
    tests.append(body.value(f"arith.cmpi sle, {place}, {last} : index"))
    below = body.value(f"arith.minsi {place}, {last} : index")
    return body.value(f"arith.maxsi {below}, {zero} : index"), tests
