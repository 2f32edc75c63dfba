"""Write a graph of row-major tensors as MLIR text: one emitter for benchmarks and models.

Every tensor t becomes the value ``%t<number>``; helper values are numbered after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from layoutopt.affine import map_text, plain_dims
from layoutopt.graph import (
    Concat, Fill, FromTensor, Graph, Init, Insert, Op, Opaque, Pad, Reshape, Slice, Structured,
)
from layoutopt.layout import row_major_strides
from layoutopt.mlir.named import NamedOp, named_op
from layoutopt.scalar import Body
from layoutopt.types import TensorType

HINT = "iree.opt.data_tiling"


@dataclass(frozen=True, slots=True)
class Value:
    """An SSA value and its type, as MLIR text."""

    name: str
    type: str


def value_of(graph: Graph, tensor: int) -> Value:
    """The SSA value of a tensor."""
    return Value(f"%t{tensor}", str(graph.types[tensor]))


def body_text(graph: Graph) -> str:
    """The ops of a graph as lines of MLIR; inputs and constants are values from outside."""
    lines: list[str] = []
    for op in graph.ops:
        lines += _Emitter(graph).op(op)
    return "\n".join(lines)


def function_text(graph: Graph, arguments: Iterable[int], results: Iterable[int],
                  name: str) -> str:
    """A whole ``func.func`` that takes and returns the given tensors."""
    takes = ", ".join(f"%t{t}: {graph.types[t]}" for t in arguments)
    gives = list(results)
    types = ", ".join(str(graph.types[t]) for t in gives)
    values = ", ".join(f"%t{t}" for t in gives)
    closing = f"  return {values} : {types}" if gives else "  return"
    return f"func.func @{name}({takes}) -> ({types}) {{\n{body_text(graph)}\n{closing}\n}}\n"


class _Emitter:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.lines: list[str] = []

    def op(self, op: Op) -> list[str]:
        match op:
            case Structured():
                self._structured(op)
            case Pad():
                self._pad(op)
            case Slice():
                self._slice(op)
            case Insert():
                self._insert(op)
            case Concat():
                self._concat(op)
            case Reshape():
                self._reshape(op)
            case Opaque():
                raise AssertionError(f"an opaque op is never emitted: {op.name}")
        return self.lines

    def _type(self, tensor: int) -> TensorType:
        return self.graph.types[tensor]

    def _operands(self, tensors: Iterable[int]) -> str:
        listed = list(tensors)
        names = ", ".join(f"%t{t}" for t in listed)
        return f"{names} : {', '.join(str(self._type(t)) for t in listed)}"

    def _scalar(self, name: str, value: str) -> str:
        self.lines.append(f"  {name} = arith.constant {value}")
        return name

    def _init(self, init: Init, result: int) -> str:
        kind = self._type(result)
        if isinstance(init, FromTensor):
            return f"%t{init.tensor}"
        self.lines.append(f"  %t{result}_empty = tensor.empty() : {kind}")
        if not isinstance(init, Fill):
            return f"%t{result}_empty"
        scalar = self._scalar(f"%t{result}_zero", init.value)
        self.lines.append(f"  %t{result}_init = linalg.fill ins({scalar} : {kind.element}) "
                          f"outs(%t{result}_empty : {kind}) -> {kind}")
        return f"%t{result}_init"

    def _structured(self, op: Structured) -> None:
        if not op.sources and not op.reduction_dims and len(op.body.ops) == 1:
            value = Fill(op.body.ops[0].attribute("value"))
            name = self._init(value, op.results[0])
            self.lines[-1] = self.lines[-1].replace(name, f"%t{op.results[0]}", 1)
            return
        inits = [self._init(i, r) for i, r in zip(op.inits, op.results, strict=True)]
        types = ", ".join(str(self._type(r)) for r in op.results)
        outs = f"outs({', '.join(inits)} : {types})"
        permutation = _transpose(op)
        if permutation is not None:
            self.lines.append(f"  %t{op.results[0]} = linalg.transpose "
                              f"ins({self._operands(op.sources)}) {outs} "
                              f"permutation = {list(permutation)}")
            return
        named = named_op(op)
        if named is not None:
            self._named(op, named, outs)
            return
        results = f"%t{op.results[0]}" + (f":{len(op.results)}" if len(op.results) > 1 else "")
        ins = f"ins({self._operands(op.sources)}) " if op.sources else ""
        maps = ", ".join(map_text(m, len(op.domain)) for m in op.maps)
        iterators = ", ".join(f'"{kind.value}"' for kind in op.iterators)
        hint = f"attrs = {{{HINT}}} " if op.hint else ""
        arrow = types if len(op.results) == 1 else f"({types})"
        if len(op.results) > 1:
            results = ", ".join(f"%t{r}" for r in op.results)
        self.lines.append(f"  {results} = linalg.generic {{indexing_maps = [{maps}], "
                          f"iterator_types = [{iterators}]}} {ins}{outs} {hint}{{")
        self.lines += _region(op.body)
        self.lines.append(f"  }} -> {arrow}")

    def _named(self, op: Structured, named: NamedOp, outs: str) -> None:
        result = op.results[0]
        sources = list(op.sources)
        attributes = [HINT] if op.hint else []
        maps = ""
        if named.windows is not None:
            rank = len(named.windows)
            for name, values in zip(("strides", "dilations"), zip(*named.windows, strict=True),
                                    strict=True):
                attributes.append(f"{name} = dense<{list(values)}> : tensor<{rank}xi64>")
        if named.explicit_maps:
            number = {loop: i for i, loop in enumerate(named.loops)}
            texts = (map_text(tuple(f.renamed(number) for f in m), len(number)) for m in op.maps)
            maps = f" indexing_maps = [{', '.join(texts)}]"
        dictionary = f" {{{', '.join(attributes)}}}" if attributes else ""
        operands = self._operands(sources)
        if named.name.startswith("pooling") and len(sources) == 1:
            operands = self._pooling_window(op, named, operands)
        self.lines.append(f"  %t{result} = linalg.{named.name}{maps}{dictionary} "
                          f"ins({operands}) {outs} -> {self._type(result)}")

    def _pooling_window(self, op: Structured, named: NamedOp, operands: str) -> str:
        """Named poolings read their window's size off an operand that holds nothing."""
        inside = [op.domain[d] for f in op.source_maps[0] if len(f.terms) > 1
                  for d in f.dims if d in op.reduction_dims]
        window = TensorType(tuple(inside), self._type(op.sources[0]).element)
        name = f"%t{op.results[0]}_window"
        self.lines.append(f"  {name} = tensor.empty() : {window}")
        values, kinds = operands.split(" : ", 1)
        return f"{values}, {name} : {kinds}, {window}"

    def _pad(self, op: Pad) -> None:
        source, result = self._type(op.source), self._type(op.result)
        value = self._scalar(f"%t{op.result}_value", op.value)
        indices = ", ".join(f"%i{d}: index" for d in range(len(op.low)))
        self.lines.append(f"  %t{op.result} = tensor.pad %t{op.source} low{list(op.low)} "
                          f"high{list(op.high)} {{\n  ^bb0({indices}):\n"
                          f"    tensor.yield {value} : {source.element}\n"
                          f"  }} : {source} to {result}")

    def _slice(self, op: Slice) -> None:
        source, result = self._type(op.source), self._type(op.result)
        self.lines.append(f"  %t{op.result} = tensor.extract_slice %t{op.source}"
                          f"{list(op.offsets)} {list(result.shape)} {list(op.strides)} : "
                          f"{source} to {result}")

    def _insert(self, op: Insert) -> None:
        source, result = self._type(op.source), self._type(op.result)
        self.lines.append(f"  %t{op.result} = tensor.insert_slice %t{op.source} into "
                          f"%t{op.destination}{list(op.offsets)} {list(source.shape)} "
                          f"{list(op.strides)} : {source} into {result}")

    def _concat(self, op: Concat) -> None:
        names = ", ".join(f"%t{t}" for t in op.sources)
        types = ", ".join(str(self._type(t)) for t in op.sources)
        self.lines.append(f"  %t{op.result} = tensor.concat dim({op.axis}) {names} : "
                          f"({types}) -> {self._type(op.result)}")

    def _reshape(self, op: Reshape) -> None:
        name, source = f"%t{op.source}", self._type(op.source)
        shapes = reshape_steps(source.shape, self._type(op.result).shape)
        for step, shape in enumerate(shapes):
            target = TensorType(shape, source.element)
            last = step == len(shapes) - 1
            result = f"%t{op.result}" if last else f"%t{op.result}_step{step}"
            if shape == source.shape:
                self.lines.append(f"  {result} = tensor.cast {name} : {source} to {target}")
            elif len(shape) < len(source.shape):
                groups = reassociation(shape, source.shape)
                self.lines.append(f"  {result} = tensor.collapse_shape {name} {groups} : "
                                  f"{source} into {target}")
            else:
                groups = reassociation(source.shape, shape)
                self.lines.append(f"  {result} = tensor.expand_shape {name} {groups} "
                                  f"output_shape {list(shape)} : {source} into {target}")
            name, source = result, target


def reshape_steps(source: tuple[int, ...], result: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Shapes on the way from ``source`` to ``result``, each one collapse or expand apart."""
    if source == result or reassociation(source, result) or reassociation(result, source):
        return [result]
    cuts = {
        s
        for shape in (source, result)
        for s, n in zip(row_major_strides(shape), shape, strict=True)
        if n != 1
    }
    ordered = sorted({*cuts, TensorType(source, "i8").elements}, reverse=True)
    middle = tuple(high // low for high, low in zip(ordered, ordered[1:], strict=False))
    steps: list[tuple[int, ...]] = []
    at = source
    for shape in (without_units(source), middle, without_units(result), result):
        if shape != at:
            steps.append(shape)
            at = shape
    return steps


def without_units(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The shape without its dims of size one."""
    return tuple(n for n in shape if n != 1)


def reassociation(coarse: tuple[int, ...], fine: tuple[int, ...]) -> list[list[int]] | None:
    """Which dims of ``fine`` make each dim of ``coarse``; None where it is no collapse of it."""
    if len(coarse) >= len(fine):
        return None
    groups: list[list[int]] = []
    at = 0
    for n in coarse:
        group: list[int] = []
        size = 1
        while at < len(fine) and (not group or size < n):
            group.append(at)
            size *= fine[at]
            at += 1
        if size != n or not group:
            return None
        groups.append(group)
    rest = list(range(at, len(fine)))
    if any(fine[d] != 1 for d in rest):
        return None
    if rest and groups:
        groups[-1] += rest
    return groups


def _transpose(op: Structured) -> tuple[int, ...] | None:
    """The permutation, where the op is exactly a transpose."""
    if not op.is_copy or len(op.results) != 1:
        return None
    source, result = plain_dims(op.source_maps[0]), plain_dims(op.result_maps[0])
    if source is None or result is None or len(source) != len(result) or (
        sorted(source) != sorted(result)
    ):
        return None
    return tuple(source.index(d) for d in result)


def _region(body: Body) -> list[str]:
    names = [f"%b{i}" for i in range(len(body.arguments))]
    header = ", ".join(f"{n}: {t}" for n, t in zip(names, body.arguments, strict=True))
    lines = [f"  ^bb0({header}):"]
    types = list(body.arguments)
    for i, op in enumerate(body.ops):
        name = f"%s{i}"
        operands = ", ".join(names[o] for o in op.operands)
        kinds = ", ".join(types[o] for o in op.operands)
        attributes = ", ".join(k if v == "unit" else f"{k} = {v}" for k, v in op.attributes)
        if op.name == "linalg.index":
            lines.append(f"    {name} = linalg.index {op.attribute('dim')} : index")
        elif op.name == "arith.constant":
            lines.append(f"    {name} = arith.constant {op.attribute('value')}")
        else:
            dictionary = f" {{{attributes}}}" if attributes else ""
            lines.append(f'    {name} = "{op.name}"({operands}){dictionary} : '
                         f"({kinds}) -> {op.type}")
        names.append(name)
        types.append(op.type)
    values = ", ".join(names[y] for y in body.yields)
    kinds = ", ".join(types[y] for y in body.yields)
    lines.append(f"    linalg.yield {values} : {kinds}")
    return lines
