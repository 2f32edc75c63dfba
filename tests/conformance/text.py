"""Functions of linalg with packs, written op by op."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from layoutopt.ir.layout import Layout

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a function: its name, and the shape and element type of its tensor."""

    name: str
    shape: Shape
    element: str = "f32"

    @property
    def type(self) -> str:
        """As MLIR writes it."""
        return f"tensor<{'x'.join([*map(str, self.shape), self.element])}>"


@dataclass
class Function:
    """One function; each method adds an op and hands its result back."""

    name: str
    arguments: list[Value] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    count: int = 0

    def argument(self, *shape: int, element: str = "f32") -> Value:
        """A tensor from outside."""
        value = Value(f"%arg{len(self.arguments)}", shape, element)
        self.arguments.append(value)
        return value

    def text(self, *results: Value) -> str:
        """The function that returns these."""
        arguments = ", ".join(f"{a.name}: {a.type}" for a in self.arguments)
        types = ", ".join(r.type for r in results)
        names = ", ".join(r.name for r in results)
        body = "\n".join(f"  {line}" for line in self.lines)
        head = f"func.func @{self.name}({arguments}) -> ({types}) {{"
        return f"{head}\n{body}\n  return {names} : {types}\n}}\n"

    def number(self, value: float, element: str = "f32") -> Value:
        """A constant number."""
        name = self._name()
        self.lines.append(f"{name} = arith.constant {float(value)} : {element}")
        return Value(name, (), element)

    def splat(self, value: float, *shape: int) -> Value:
        """A constant tensor of one value."""
        made = Value(self._name(), shape)
        self.lines.append(f"{made.name} = arith.constant dense<{float(value)}> : {made.type}")
        return made

    def empty(self, *shape: int, element: str = "f32") -> Value:
        """A tensor without values."""
        made = Value(self._name(), shape, element)
        self.lines.append(f"{made.name} = tensor.empty() : {made.type}")
        return made

    def fill(self, value: float, *shape: int) -> Value:
        """A tensor of one value."""
        number, into = self.number(value), self.empty(*shape)
        made = Value(self._name(), shape)
        self.lines.append(
            f"{made.name} = linalg.fill ins({number.name} : f32) outs({into.name} : {into.type}) "
            f"-> {made.type}"
        )
        return made

    def pack(
        self,
        x: Value,
        tiles: dict[int, int],
        outer: Sequence[int] = (),
        padding: float | None = None,
    ) -> Value:
        """``linalg.pack``; ``tiles``: by dim, in the order of the inner dims."""
        layout = _layout(x.shape, tiles, outer)
        into = self.empty(*layout.physical_shape(x.shape), element=x.element)
        filled = ""
        if padding is not None:
            number = self.number(padding, x.element)
            filled = f"padding_value({number.name} : {x.element}) "
        return self._moved("pack", x, into, filled + _attributes(layout))

    def unpack(
        self, x: Value, tiles: dict[int, int], shape: Shape, outer: Sequence[int] = ()
    ) -> Value:
        """``linalg.unpack`` to a tensor of ``shape``."""
        into = self.empty(*shape, element=x.element)
        return self._moved("unpack", x, into, _attributes(_layout(shape, tiles, outer)))

    def generic(
        self,
        maps: Sequence[str],
        iterators: str,
        sources: Sequence[Value],
        into: Value,
        body: Sequence[str],
    ) -> Value:
        """A ``linalg.generic``; maps as ``abc -> ab``, body over %x0, %x1 and %acc, last %r."""
        loops = sorted({x for m in maps for x in m if x.isalpha()})
        names = ", ".join(loops)
        spelled = [f"affine_map<({names}) -> ({', '.join(m.split())})>" for m in maps]
        kinds = {"p": '"parallel"', "r": '"reduction"'}
        made = Value(self._name(), into.shape, into.element)
        arguments = [f"%x{i}: {s.element}" for i, s in enumerate(sources)]
        inside = "\n".join(f"    {line}" for line in body)
        ins = ", ".join(s.name for s in sources)
        ins_types = ", ".join(s.type for s in sources)
        self.lines.append(
            f"{made.name} = linalg.generic {{indexing_maps = [{', '.join(spelled)}], "
            f"iterator_types = [{', '.join(kinds[k] for k in iterators)}]}} "
            f"ins({ins} : {ins_types}) outs({into.name} : {into.type}) {{\n"
            f"  ^bb0({', '.join([*arguments, f'%acc: {into.element}'])}):\n{inside}\n"
            f"    linalg.yield %r : {into.element}\n  }} -> {made.type}"
        )
        return made

    def unary(self, x: Value, op: str = "math.exp") -> Value:
        """An elementwise op of one tensor."""
        loops = " ".join("abcdefgh"[: len(x.shape)])
        into = self.empty(*x.shape, element=x.element)
        body = [f"%r = {op} %x0 : {x.element}"]
        return self.generic((loops, loops), "p" * len(x.shape), (x,), into, body)

    def binary(self, x: Value, y: Value, maps: Sequence[str] = (), op: str = "addf") -> Value:
        """An elementwise op of two tensors; maps of both and of the result, which is like x."""
        loops = " ".join("abcdefgh"[: len(x.shape)])
        into = self.empty(*x.shape)
        body = [f"%r = arith.{op} %x0, %x1 : f32"]
        return self.generic(maps or (loops,) * 3, "p" * len(x.shape), (x, y), into, body)

    def contraction(
        self, maps: Sequence[str], iterators: str, sources: Sequence[Value], into: Value
    ) -> Value:
        """Products added up."""
        body = ["%p = arith.mulf %x0, %x1 : f32", "%r = arith.addf %acc, %p : f32"]
        return self.generic(maps, iterators, sources, into, body)

    def matmul(self, x: Value, w: Value, name: str = "matmul") -> Value:
        """``linalg.matmul``, or ``linalg.mmt4d`` and its kin, from zero on."""
        shape = (*x.shape[:-1], w.shape[-1])
        if name.endswith("mmt4d"):
            shape = (*x.shape[:-3], w.shape[-4], x.shape[-2], w.shape[-2])
        into = self.fill(0, *shape)
        made = Value(self._name(), shape)
        self.lines.append(
            f"{made.name} = linalg.{name} ins({x.name}, {w.name} : {x.type}, {w.type}) "
            f"outs({into.name} : {into.type}) -> {made.type}"
        )
        return made

    def transpose(self, x: Value, *permutation: int) -> Value:
        """``linalg.transpose``."""
        into = self.empty(*(x.shape[d] for d in permutation), element=x.element)
        made = Value(self._name(), into.shape, x.element)
        self.lines.append(
            f"{made.name} = linalg.transpose ins({x.name} : {x.type}) "
            f"outs({into.name} : {into.type}) permutation = {list(permutation)}"
        )
        return made

    def pad(self, x: Value, low: Sequence[int], high: Sequence[int], value: float = 0) -> Value:
        """``tensor.pad``."""
        number = self.number(value, x.element)
        shape = tuple(a + n + b for a, n, b in zip(low, x.shape, high, strict=True))
        made = Value(self._name(), shape, x.element)
        indices = ", ".join(f"%i{d}: index" for d in range(len(shape)))
        self.lines.append(
            f"{made.name} = tensor.pad {x.name} low{list(low)} high{list(high)} {{\n"
            f"  ^bb0({indices}):\n    tensor.yield {number.name} : {x.element}\n"
            f"  }} : {x.type} to {made.type}"
        )
        return made

    def reshape(self, x: Value, groups: Sequence[Sequence[int]], *shape: int) -> Value:
        """``tensor.collapse_shape`` or ``tensor.expand_shape``, as the shape says."""
        made = Value(self._name(), shape, x.element)
        collapses = len(shape) < len(x.shape)
        word = "collapse_shape" if collapses else "expand_shape"
        to = "" if collapses else f" output_shape {list(shape)}"
        listed = "[" + ", ".join(str(list(g)) for g in groups) + "]"
        self.lines.append(
            f"{made.name} = tensor.{word} {x.name} {listed}{to} : {x.type} into {made.type}"
        )
        assert math.prod(x.shape) == math.prod(shape)
        return made

    def slice(self, x: Value, offsets: Sequence[int], *shape: int) -> Value:
        """``tensor.extract_slice`` with strides of one."""
        made = Value(self._name(), shape, x.element)
        self.lines.append(
            f"{made.name} = tensor.extract_slice {x.name}{list(offsets)} {list(shape)} "
            f"{[1] * len(shape)} : {x.type} to {made.type}"
        )
        return made

    def concat(self, axis: int, *values: Value) -> Value:
        """``tensor.concat``."""
        first = values[0]
        whole = sum(v.shape[axis] for v in values)
        shape = (*first.shape[:axis], whole, *first.shape[axis + 1 :])
        made = Value(self._name(), shape, first.element)
        names = ", ".join(v.name for v in values)
        types = ", ".join(v.type for v in values)
        self.lines.append(
            f"{made.name} = tensor.concat dim({axis}) {names} : ({types}) -> {made.type}"
        )
        return made

    def _moved(self, word: str, x: Value, into: Value, attributes: str) -> Value:
        made = Value(self._name(), into.shape, x.element)
        self.lines.append(
            f"{made.name} = linalg.{word} {x.name} {attributes} into {into.name} : "
            f"{x.type} -> {made.type}"
        )
        return made

    def _name(self) -> str:
        self.count += 1
        return f"%v{self.count}"


def _layout(shape: Shape, tiles: dict[int, int], outer: Sequence[int]) -> Layout:
    order = tuple(outer) or tuple(range(len(shape)))
    return Layout(order, tuple(tiles), tuple(tiles.values()))


def _attributes(layout: Layout) -> str:
    outer = layout.outer_dims_perm
    said = f"outer_dims_perm = {list(outer)} " if outer != tuple(range(len(outer))) else ""
    return (
        f"{said}inner_dims_pos = {list(layout.inner_dims_pos)} "
        f"inner_tiles = {list(layout.inner_tiles)}"
    )
