"""What stands at an index of a tensor, read out of a graph's own ops: offsets, strides, maps.

This is the meaning of the ops that the dialects document, one case each; ``tests/property`` holds
the NumPy oracle to the same. Memory forms come from ``Layout.apply`` and ``Layout.undo``
themselves, a scatter in one pass from the text that is written for it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import z3

from layoutopt.ir.affine import Affine, IndexMap
from layoutopt.ir.graph import (
    Fill,
    FromTensor,
    Graph,
    Init,
    Insert,
    Op,
    Pack,
    Pad,
    Reshape,
    Scatter,
    Slice,
    Structured,
    Unpack,
)
from layoutopt.ir.scalar import Body
from layoutopt.mlir.write.scatter import scatter_lines
from tests.proofs.arrays import Index, SymbolicArray, symbolic
from tests.proofs.paths import DisprovedError, Number, Paths, term


@dataclass(frozen=True)
class Read:
    """An element of a tensor that the graph is given."""

    tensor: int
    index: Index


@dataclass(frozen=True)
class Constant:
    """A scalar, as MLIR text."""

    text: str


@dataclass(frozen=True)
class Apply:
    """A scalar op on elements."""

    name: str
    type: str
    attributes: tuple[tuple[str, str], ...]
    operands: tuple[Element, ...]


@dataclass(frozen=True)
class Fold:
    """A body run over reduction loops; ``at``: what it reads of one input at one point."""

    body: Body
    sizes: tuple[int, ...]
    start: Element
    at: Callable[[int, Index], Element]


Element = Read | Constant | Apply | Fold


class Elements:
    """The elements of a graph's tensors; each tensor has one producer or none."""

    def __init__(self, paths: Paths, graph: Graph) -> None:
        self.paths, self.graph = paths, graph
        self.makers = {t: op for op in graph.ops for t in op.outputs}

    def at(self, tensor: int, index: Index) -> Element:
        """What the tensor holds there; the index is proved to lie within it."""
        for i, n in zip(index, self.graph.types[tensor].shape, strict=True):
            inside = z3.And(term(i) >= 0, term(i) < term(n))
            self.paths.prove(inside, f"an index within tensor {tensor}")
        op = self.makers.get(tensor)
        return Read(tensor, index) if op is None else self._made(op, tensor, index)

    def _made(self, op: Op, tensor: int, index: Index) -> Element:
        match op:
            case Structured():
                return self._computed(op, op.results.index(tensor), index)
            case Pad():
                self._same_shape(self._widened(op), tensor)
                return self._placed([(op.source, op.low)], None, index, Constant(op.value))
            case Slice():
                moved = zip(op.offsets, op.strides, index, strict=True)
                return self.at(op.source, tuple(o + s * i for o, s, i in moved))
            case Insert():
                under = partial(self.at, op.destination, index)
                return self._placed([(op.source, op.offsets)], op.strides, index, under)
            case Scatter():
                return self._scattered(op, index)
            case Reshape():
                shape = self.graph.types[tensor].shape
                return self._element(self._array(op.source).reshape(shape).at(index))
            case Pack():
                filler = Constant(op.padding or "anything")
                packed = symbolic(op.layout.apply(self._array(op.source).as_array, filler))
                self._same_shape(packed.shape, tensor)
                return self._element(packed.at(index))
            case Unpack():
                shape = self.graph.types[tensor].shape
                back = symbolic(op.layout.undo(self._array(op.source).as_array, shape))
                return self._element(back.at(index))
            case _:
                raise NotImplementedError(type(op).__name__)

    def _array(self, tensor: int) -> SymbolicArray:
        return SymbolicArray(
            self.paths, self.graph.types[tensor].shape, lambda index: self.at(tensor, index)
        )

    def _widened(self, op: Pad) -> tuple[int, ...]:
        sizes = zip(op.low, self.graph.types[op.source].shape, op.high, strict=True)
        return tuple(low + n + high for low, n, high in sizes)

    def _same_shape(self, shape: Sequence[int], tensor: int) -> None:
        for n, m in zip(shape, self.graph.types[tensor].shape, strict=True):
            self.paths.prove(term(n) == term(m), f"the shape of tensor {tensor}")

    @staticmethod
    def _element(found: object) -> Element:
        assert isinstance(found, Read | Constant | Apply | Fold)
        return found

    def _placed(
        self,
        sources: Sequence[tuple[int, Sequence[int]]],
        strides: Sequence[int] | None,
        index: Index,
        otherwise: Element | Callable[[], Element] | None,
    ) -> Element:
        """The element of the last source that lies here, else what lies around the sources."""
        steps = strides or (1,) * len(index)
        for source, offsets in reversed(sources):
            shape = self.graph.types[source].shape
            held = []
            for i, o, s, n in zip(index, offsets, steps, shape, strict=True):
                assert not isinstance(s, Number), "strides are plain numbers"
                behind = term(i) - term(o)
                held += [behind >= 0, behind % s == 0, behind / s < term(n)]
            if self.paths.holds(z3.And(held)):
                there = ((i - o) // s for i, o, s in zip(index, offsets, steps, strict=True))
                return self.at(source, tuple(there))
        if otherwise is None:
            raise DisprovedError(f"no source of a scatter without background holds {index}")
        return otherwise() if callable(otherwise) else otherwise

    def _scattered(self, op: Scatter, index: Index) -> Element:
        if op.computed:
            return self._written(op, index)
        sources = list(zip(op.sources, op.offsets, strict=True))
        background = None if op.background is None else Constant(op.background)
        return self._placed(sources, op.strides, index, background)

    def _written(self, op: Scatter, index: Index) -> Element:
        """Run the body that is written for a scatter in one pass."""
        known: dict[str, Any] = {}
        for line in scatter_lines(op, self.graph.types):
            found = re.match(r"\s+(%v\d+) = (\S+) (.*?)(?: : \S+)?$", line)
            if found is not None:
                known[found[1]] = self._value(found[2], found[3], line, index, known)
            ended = re.match(r"\s+linalg.yield (%v\d+) :", line)
            if ended is not None:
                element = known[ended[1]]
                return self._element(element() if callable(element) else element)
        raise AssertionError("a body without a yield")

    def _value(self, name: str, text: str, line: str, index: Index, known: dict[str, Any]) -> Any:
        """One line of the body: an index, a Z3 truth, or an element that is read when chosen."""
        operands = [known[v] for v in re.findall(r"%v\d+", text)]
        match name:
            case "linalg.index":
                return index[int(text)]
            case "arith.constant" if line.endswith(": index"):
                return self.paths.texts[text] if text in self.paths.texts else int(text)
            case "arith.constant":
                return Constant(line.split("arith.constant ")[1])
            case "arith.subi":
                return operands[0] - operands[1]
            case "arith.cmpi":
                sign = text.split(",", maxsplit=1)[0]
                lhs, rhs = map(term, operands)
                return {"sge": lhs >= rhs, "sle": lhs <= rhs, "eq": lhs == rhs}[sign]
            case "arith.maxsi" | "arith.minsi":
                lhs, rhs = map(term, operands)
                first = self.paths.holds(lhs >= rhs if name == "arith.maxsi" else lhs <= rhs)
                return operands[0 if first else 1]
            case "arith.divsi" | "arith.remsi":
                return self._rounded_to_zero(name, *operands)
            case "arith.shrsi":
                return operands[0] // (1 << operands[1])
            case "arith.andi" if line.endswith(": i1"):
                return z3.And(operands)
            case "arith.andi":
                mask = operands[1]
                assert mask & (mask + 1) == 0, "a mask of low bits"
                return operands[0] % (mask + 1)
            case "tensor.extract":
                source = re.match(r"%t(\d+)\[", text)
                assert source is not None
                # Out of range is undefined even where the element is not chosen.
                return self.at(int(source[1]), tuple(operands))
            case "arith.select":
                chosen = operands[1 if self.paths.holds(operands[0]) else 2]
                return chosen
            case _:
                raise NotImplementedError(line)

    def _rounded_to_zero(self, name: str, value: int, divisor: int) -> int:
        """``divsi`` and ``remsi`` round towards zero, where Python rounds down."""
        if value >= 0:
            return value // divisor if name == "arith.divsi" else value % divisor
        return -(-value // divisor) if name == "arith.divsi" else -(-value % divisor)

    def _computed(self, op: Structured, position: int, index: Index) -> Element:
        """The body at the loops that write there, folded over the others."""
        loops: dict[int, int] = {}
        for form, i in zip(op.result_maps[position], index, strict=True):
            if not form.terms:
                self.paths.prove(term(i) == form.offset, "a result at a constant place")
                continue
            assert form.plain_dim is not None, "results are written at plain places"
            loops[form.plain_dim] = i
        for d, n in enumerate(op.domain):
            if d in loops:
                continue
            if d not in op.reduction_dims:
                self.paths.prove(term(n) == 1, "a parallel loop that no result is written along")
                loops[d] = 0
        for d, i in loops.items():
            self.paths.prove(term(i) < term(op.domain[d]), "a place that its loop reaches")
        reduced = op.reduction_dims
        start = self._start(op.inits[position], index)

        def read(source: int, point: Index) -> Element:
            at = loops | dict(zip(reduced, point, strict=True))
            return self.at(op.sources[source], _place(op.source_maps[source], at))

        if reduced:
            assert len(op.results) == 1
            sizes = tuple(op.domain[d] for d in reduced)
            return Fold(op.body, sizes, start, read)
        reads = [read(p, ()) for p in range(len(op.sources))]
        return applied(_placed_body(op.body, loops), (*reads, start), position)

    def _start(self, init: Init, index: Index) -> Element:
        match init:
            case Fill():
                return Constant(init.value)
            case FromTensor():
                return self.at(init.tensor, index)
            case _:
                return Constant("uninitialized")


def _placed_body(body: Body, loops: dict[int, int]) -> Body:
    """The body where ``linalg.index`` names what stands at its loop."""
    ops = tuple(
        replace(op, attributes=(("at", str(loops[int(op.attribute("dim"))])),))
        if op.name == "linalg.index"
        else op
        for op in body.ops
    )
    return replace(body, ops=ops)


def applied(body: Body, arguments: Sequence[Element], position: int = 0) -> Element:
    """What the body yields."""
    values = list(arguments)
    for op in body.ops:
        if op.name == "arith.constant":
            values.append(Constant(op.attribute("value")))
            continue
        operands = tuple(values[o] for o in op.operands)
        values.append(Apply(op.name, op.type, op.attributes, operands))
    return values[body.yields[position]]


def _place(index_map: IndexMap, at: dict[int, int]) -> Index:
    return tuple(_value(form, at) for form in index_map)


def _value(form: Affine, at: dict[int, int]) -> int:
    found = form.offset
    for d, c in form.terms:
        found = found + c * at[d]
    return found
