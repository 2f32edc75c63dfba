"""Write a graph of row-major tensors as MLIR text: one emitter for benchmarks and models.

Every tensor t becomes the value ``%t<number>``; helper values are numbered after it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import assert_never

from layoutopt.compiler.installed import quirks
from layoutopt.ir.affine import map_text, plain_dims, runs_backwards
from layoutopt.ir.body_text import body_lines
from layoutopt.ir.graph import (
    Concat,
    Constant,
    DispatchRegion,
    Extension,
    Fill,
    FromTensor,
    FusionBarrier,
    Gather,
    Graph,
    Init,
    Insert,
    Op,
    Opaque,
    Pack,
    Pad,
    Reshape,
    Scatter,
    Slice,
    Structured,
    Unpack,
)
from layoutopt.ir.named import NamedOp, named_op
from layoutopt.ir.scalar import Body, fill_value
from layoutopt.ir.schedule import Schedule
from layoutopt.ir.size_values import (
    empty_text,
    list_text,
    size_lines,
    sized_text,
    symbol_value,
    symbols_in,
)
from layoutopt.ir.types import TensorType, is_complex
from layoutopt.mlir.write.extract import read_lines
from layoutopt.mlir.write.gather import gather_lines
from layoutopt.mlir.write.reshape import reshape_lines
from layoutopt.mlir.write.scatter import scatter_lines
from layoutopt.mlir.write.schedule import schedule_text
from layoutopt.mlir.write.sliced_reads import slice_reads
from layoutopt.mlir.write.strided import kept_apart
from layoutopt.mlir.write.summed_products import keep_products


def body_text(graph: Graph) -> str:
    """The ops of a graph as lines of MLIR; inputs and constants are values from outside."""
    lines: list[str] = []
    written = kept_apart(slice_reads(keep_products(graph)))
    for op in written.ops:
        lines += _Emitter(written).op(op)
    return "\n".join([*size_lines(lines), *lines])


def function_text(graph: Graph, arguments: Iterable[int], results: Iterable[int], name: str) -> str:
    """A whole ``func.func`` that takes and returns the given tensors.

    Behind the tensors it takes the values of symbols, in order of their names.
    """
    body = body_text(graph)
    sizes = (f"{symbol_value(s)}: index" for s in symbols_in([body]))
    takes = ", ".join([*(f"%t{t}: {graph.types[t]}" for t in arguments), *sizes])
    gives = list(results)
    types = ", ".join(str(graph.types[t]) for t in gives)
    values = ", ".join(f"%t{t}" for t in gives)
    closing = f"  return {values} : {types}" if gives else "  return"
    return f"func.func @{name}({takes}) -> ({types}) {{\n{body}\n{closing}\n}}\n"


class _Emitter:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.lines: list[str] = []

    def op(self, op: Op) -> list[str]:  # noqa: PLR0912 -- one line a kind
        match op:
            case Structured():
                self._structured(op)
            case Pad():
                self._pad(op)
            case Slice():
                self._slice(op)
            case Insert():
                self._insert(op)
            case Scatter():
                self.lines += scatter_lines(op, self.graph.types)
            case Gather():
                self.lines += gather_lines(op, self.graph.types)
            case Concat():
                self._concat(op)
            case Reshape():
                self._reshape(op)
            case FusionBarrier():
                self._fusion_barrier(op)
            case Pack() | Unpack():
                self._pack(op)
            case DispatchRegion():
                self._dispatch_region(op)
            case Constant():
                pass  # a value from outside
            case Extension():
                self.lines += op.emit(self.graph.types)
            case Opaque():
                raise AssertionError(f"an opaque op is never emitted: {op.name}")
            case _:
                assert_never(op)
        return self.lines

    def _type(self, tensor: int) -> TensorType:
        return self.graph.types[tensor]

    def _operands(self, tensors: Iterable[int]) -> str:
        listed = list(tensors)
        names = ", ".join(f"%t{t}" for t in listed)
        return f"{names} : {', '.join(str(self._type(t)) for t in listed)}"

    def _scalar(self, name: str, value: str, element: str) -> str:
        constant = f"arith.constant {value}"
        if is_complex(element):
            constant = f"complex.constant {value} : {element}"
        self.lines.append(f"  {name} = {constant}")
        return name

    def _init(self, init: Init, result: int) -> str:
        if isinstance(init, FromTensor):
            return f"%t{init.tensor}"
        if isinstance(init, Fill):
            return self._fill(f"%t{result}_init", init.value, result)
        return self._empty(result)

    def _empty(self, result: int) -> str:
        self.lines.append(f"  %t{result}_empty = {empty_text(self._type(result))}")
        return f"%t{result}_empty"

    def _fill(self, name: str, value: str, result: int) -> str:
        kind = self._type(result)
        scalar, empty = self._scalar(f"%t{result}_scalar", value, kind.element), self._empty(result)
        self.lines.append(
            f"  {name} = linalg.fill ins({scalar} : {kind.element}) "
            f"outs({empty} : {kind}) -> {kind}"
        )
        return name

    def _structured(self, op: Structured) -> None:
        filled = fill_value(op.body)
        if not op.sources and not op.reduction_dims and filled is not None:
            self._fill(f"%t{op.results[0]}", filled, op.results[0])
            return
        if op.schedule is not None and op.schedule.inside:
            self._byte_products(op, op.schedule)
            return
        inits = [self._init(i, r) for i, r in zip(op.inits, op.results, strict=True)]
        types = ", ".join(str(self._type(r)) for r in op.results)
        outs = f"outs({', '.join(inits)} : {types})"
        permutation = _transpose(op)
        if permutation is not None:
            self.lines.append(
                f"  %t{op.results[0]} = linalg.transpose "
                f"ins({self._operands(op.sources)}) {outs} "
                f"permutation = {list(permutation)}"
            )
            return
        named = named_op(op)
        if named is not None:
            self._named(op, named, outs)
            return
        backwards = [i for i, m in enumerate(op.source_maps) if runs_backwards(m)]
        forwards = [t for i, t in enumerate(op.sources) if i not in backwards]
        ins = f"ins({self._operands(forwards)}) " if forwards else ""
        maps = ", ".join(
            map_text(m, len(op.domain)) for i, m in enumerate(op.maps) if i not in backwards
        )
        iterators = ", ".join(f'"{kind.value}"' for kind in op.iterators)
        attributes = [quirks().data_tiling_attribute] * op.data_tiled
        if op.schedule is not None:
            attributes.append(schedule_text(op.schedule))
        attribute = f"attrs = {{{', '.join(attributes)}}} " if attributes else ""
        arrow = types if len(op.results) == 1 else f"({types})"
        results = ", ".join(f"%t{r}" for r in op.results)
        self.lines.append(
            f"  {results} = linalg.generic {{indexing_maps = [{maps}], "
            f"iterator_types = [{iterators}]}} {ins}{outs} {attribute}{{"
        )
        reads: dict[int, list[str]] = {}
        for i in backwards:
            tensor = op.sources[i]
            reads[i] = read_lines(f"%b{i}", f"%t{tensor}", str(self._type(tensor)), op.maps[i])
        self.lines += _region(op.body, reads)
        self.lines.append(f"  }} -> {arrow}")

    def _byte_products(self, op: Structured, schedule: Schedule) -> None:
        """A contraction whose innermost loops an instruction does."""
        (result,), outer = op.results, range(len(op.domain) - schedule.inside)
        init = self._init(op.inits[0], result)
        around = (tuple(f for f in m if f.plain_dim in outer) for m in op.maps)
        iterators = (f"#linalg.iterator_type<{op.iterators[d].value}>" for d in outer)
        written = quirks().byte_products.format(
            sources=", ".join(f"%t{t}" for t in op.sources),
            init=init,
            maps=", ".join(map_text(m, len(outer)) for m in around),
            iterators=", ".join(iterators),
            vectors=op.domain[len(outer)],
            schedule=schedule_text(schedule.of(outer)),
            types=", ".join(str(self._type(t)) for t in op.sources),
            result=self._type(result),
        )
        self.lines.append(f"  %t{result} = {written}")

    def _named(self, op: Structured, named: NamedOp, outs: str) -> None:
        result = op.results[0]
        attributes = [quirks().data_tiling_attribute] if op.data_tiled else []
        maps = ""
        if named.windows is not None:
            rank = len(named.windows)
            for name, values in zip(
                ("strides", "dilations"), zip(*named.windows, strict=True), strict=True
            ):
                attributes.append(f"{name} = dense<{list(values)}> : tensor<{rank}xi64>")
        if named.explicit_maps:
            number = {loop: i for i, loop in enumerate(named.loops)}
            texts = (map_text(tuple(f.renamed(number) for f in m), len(number)) for m in op.maps)
            maps = f" indexing_maps = [{', '.join(texts)}]"
        dictionary = f" {{{', '.join(attributes)}}}" if attributes else ""
        self.lines.append(
            f"  %t{result} = linalg.{named.name}{maps}{dictionary} "
            f"ins({self._operands(op.sources)}) {outs} -> {self._type(result)}"
        )

    def _pad(self, op: Pad) -> None:
        source, result = self._type(op.source), self._type(op.result)
        if op.anything:
            around = f"%t{op.result}_empty"
            ones = [1] * len(op.low)
            self.lines.append(f"  {around} = {empty_text(result)}")
            self.lines.append(
                f"  %t{op.result} = tensor.insert_slice %t{op.source} into {around}"
                f"{list_text(op.low)} {list_text(source.shape)} {ones} : {source} into {result}"
            )
            return
        value = self._scalar(f"%t{op.result}_value", op.value, source.element)
        indices = ", ".join(f"%i{d}: index" for d in range(len(op.low)))
        self.lines.append(
            f"  %t{op.result} = tensor.pad %t{op.source} low{list_text(op.low)} "
            f"high{list_text(op.high)} {{\n  ^bb0({indices}):\n"
            f"    tensor.yield {value} : {source.element}\n"
            f"  }} : {source} to {result}"
        )

    def _slice(self, op: Slice) -> None:
        source, result = self._type(op.source), self._type(op.result)
        self.lines.append(
            f"  %t{op.result} = tensor.extract_slice %t{op.source}"
            f"{list_text(op.offsets)} {list_text(result.shape)} {list(op.strides)} : "
            f"{source} to {result}"
        )

    def _insert(self, op: Insert) -> None:
        source, result = self._type(op.source), self._type(op.result)
        self.lines.append(
            f"  %t{op.result} = tensor.insert_slice %t{op.source} into "
            f"%t{op.destination}{list_text(op.offsets)} {list_text(source.shape)} "
            f"{list(op.strides)} : {source} into {result}"
        )

    def _concat(self, op: Concat) -> None:
        names = ", ".join(f"%t{t}" for t in op.sources)
        types = ", ".join(str(self._type(t)) for t in op.sources)
        self.lines.append(
            f"  %t{op.result} = tensor.concat dim({op.axis}) {names} : "
            f"({types}) -> {self._type(op.result)}"
        )

    def _fusion_barrier(self, op: FusionBarrier) -> None:
        kind = self._type(op.result)
        source = f"%t{op.source}"
        last = len(quirks().fusion.barrier) - 1
        for place, name in enumerate(quirks().fusion.barrier):
            result = f"%t{op.result}" if place == last else f"%t{op.result}_{place}"
            self.lines.append(f"  {result} = {name} {source} : {sized_text(kind)} -> {kind}")
            source = result

    def _dispatch_region(self, op: DispatchRegion) -> None:
        results = ", ".join(f"%t{t}" for t in op.results)
        types = ", ".join(sized_text(self._type(t)) for t in op.results)
        self.lines.append(f"  {results} = flow.dispatch.region -> ({types}) {{")
        for inner in op.ops:
            self.lines += [f"  {line}" for line in _Emitter(self.graph).op(inner)]
        self.lines += [f"    flow.return {self._operands(op.yields)}", "  }"]

    def _pack(self, op: Pack | Unpack) -> None:
        layout, into = op.layout, self._empty(op.result)
        word, padding = "unpack", ""
        if isinstance(op, Pack):
            word = "pack"
            if op.padding is not None:
                element = self._type(op.result).element
                value = self._scalar(f"%t{op.result}_value", op.padding, element)
                padding = f"padding_value({value} : {element}) "
        self.lines.append(
            f"  %t{op.result} = linalg.{word} %t{op.source} {padding}"
            f"outer_dims_perm = {list(layout.outer_dims_perm)} "
            f"inner_dims_pos = {list(layout.inner_dims_pos)} "
            f"inner_tiles = {list(layout.inner_tiles)} into {into} : "
            f"{self._type(op.source)} -> {self._type(op.result)}"
        )

    def _reshape(self, op: Reshape) -> None:
        self.lines += reshape_lines(
            f"%t{op.source}", self._type(op.source), f"%t{op.result}", self._type(op.result)
        )


def _transpose(op: Structured) -> tuple[int, ...] | None:
    """The permutation, where the op is exactly a transpose, without a schedule.

    Not of a tensor without dims where MLIR's parser crashes on that.
    """
    if not op.is_copy or len(op.results) != 1 or op.schedule is not None or _unreadable(op):
        return None
    source, result = plain_dims(op.source_maps[0]), plain_dims(op.result_maps[0])
    if (
        source is None
        or result is None
        or len(source) != len(result)
        or (sorted(source) != sorted(result))
    ):
        return None
    return tuple(source.index(d) for d in result)


def _unreadable(op: Structured) -> bool:
    return not op.domain and not quirks().limits.parses_scalar_transpose


def _region(body: Body, reads: dict[int, list[str]]) -> list[str]:
    """``reads``: lines that make the arguments which are not block arguments."""
    names = [f"%b{i}" for i in range(len(body.arguments))]
    header = ", ".join(f"%b{i}: {kind}" for i, kind in enumerate(body.arguments) if i not in reads)
    lines = [f"  ^bb0({header}):", *(line for made in reads.values() for line in made)]
    made, names = body_lines(body, names)
    kinds = ", ".join(map(body.type_of, body.yields))
    values = ", ".join(names[y] for y in body.yields)
    return [*lines, *made, f"    linalg.yield {values} : {kinds}"]
