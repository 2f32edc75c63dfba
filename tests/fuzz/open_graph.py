"""Functions whose sizes are known at run time only: made of a static one, some sizes left open."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import iree.compiler.ir as ir
import numpy as np

from layoutopt.ir.concrete import concrete
from layoutopt.ir.graph import Constant, Graph, Opaque, Structured
from layoutopt.ir.planned_sizes import divided
from layoutopt.ir.size import MOST, Symbol, linear, symbol
from layoutopt.ir.size_values import symbol_value, symbols_in
from layoutopt.ir.types import Array, numpy_dtype
from layoutopt.mlir.read.lift import Lifted, lift
from layoutopt.mlir.write.emit import body_text
from layoutopt.oracle import evaluate
from tests.fuzz.comparison import general_tolerance
from tests.fuzz.program import Written
from tests.fuzz.value import EPSILON
from tests.property.rules.opened import End, FreeSize, free_sizes, with_sizes_at

TRIED = (1, 15, 16, 17, 7, 8, 9, 31)
"""One, around tiles, and a prime."""
LARGEST_RANGE = 40
"""The end of a range, of those symbols that have one."""
CASES = 5
MOST_OPEN = 2
MOST_POINTS = 200_000
"""Points of an iteration domain, or elements of a tensor, at most."""

Numbers = Mapping[str, int]
"""By name of the symbol."""


@dataclass(frozen=True)
class OpenGraph:
    """A function of open sizes, and the numbers that it is run at."""

    written: Written
    """The static function that it was made of."""
    graph: Graph
    cases: tuple[Numbers, ...]
    constants: Mapping[int, tuple[str, Array]]
    """By tensor: the op that makes it as text, without its name, and what it holds."""
    ranges: Mapping[int, tuple[int, int]]
    """By input, the least and the largest whole number that it may hold."""

    @property
    def name(self) -> str:
        """The symbol of the function."""
        return self.written.name

    def text(self, name: str) -> str:
        """The function under a name, its sizes taken from dims of its arguments."""
        graph = self.graph
        body = body_text(graph)
        made = [f"  %t{t} = {text}" for t, (text, _) in self.constants.items()]
        takes = ", ".join(f"%t{t}: {graph.types[t]}" for t in graph.inputs)
        gives = ", ".join(str(graph.types[t]) for t in graph.outputs)
        values = ", ".join(f"%t{t}" for t in graph.outputs)
        sizes = [line for s in symbols_in([body]) for line in self._size(s)]
        return "\n".join(
            [
                f"func.func @{name}({takes}) -> ({gives}) {{",
                *made,
                *sizes,
                body,
                f"  return {values} : {gives}",
                "}",
                "",
            ]
        )

    def _size(self, of: Symbol) -> list[str]:
        """Lines that read a symbol off the first dim that is so many times it, and some more."""
        tensor, dim, more = next(
            (t, d, found[2])
            for t in self.graph.inputs
            for d, n in enumerate(self.graph.types[t].shape)
            if (found := linear(n)) is not None and found[0] == of
        )
        divisor, kind = divided(of)[1], self.graph.types[tensor]
        name = symbol_value(of).removeprefix("%n_")
        steps = [f"tensor.dim %t{tensor}, %at_{name} : {kind}"]
        if more:
            steps.append(f"arith.subi %{{}}_{name}, %more_{name} : index")
        if of.high * divisor <= LARGEST_RANGE:
            stated = f"umin = {of.low * divisor}, umax = {of.high * divisor}, udiv = {divisor}"
            steps.append(f"util.assume.int %{{}}_{name}<{stated}> : index")
        if divisor > 1:
            steps.append(f"arith.divui %{{}}_{name}, %by_{name} : index")
        numbers = {"at": dim, "more": more, "by": divisor}
        lines = [f"  %{k}_{name} = arith.constant {n} : index" for k, n in numbers.items()]
        made = [*(f"step{place}" for place in range(len(steps) - 1)), "n"]
        for before, result, step in zip(["", *made], made, steps, strict=False):
            lines.append(f"  %{result}_{name} = {step.format(before)}")
        return lines

    def arguments(self, numbers: Numbers, seed: str) -> list[Array]:
        """Random contents of the arguments at these sizes."""
        rng = np.random.default_rng(list(f"{seed} {sorted(numbers.items())}".encode()))
        types = concrete(self.graph, numbers).types
        arrays = []
        for tensor in self.graph.inputs:
            low, high = self.ranges[tensor]
            dtype = numpy_dtype(types[tensor].element)
            arrays.append(rng.integers(low, high + 1, types[tensor].shape).astype(dtype))
        return arrays

    def results(self, numbers: Numbers, arguments: Sequence[Array]) -> list[Array] | None:
        """What the oracle makes of them; None where numbers are too large for their types."""
        known = concrete(self.graph, numbers)
        values = dict(zip(known.inputs, arguments, strict=True))
        values |= {t: array for t, (_, array) in self.constants.items()}
        ops = tuple(op for op in known.ops if not isinstance(op, Constant))
        found = evaluate(Graph(known.types, ops, known.inputs, known.outputs), values)
        for tensor, array in found.items():
            exact = 1.0 / EPSILON.get(known.types[tensor].element, 0.1 / MOST)
            if array.size and not float(np.max(np.abs(array.astype(np.float64)))) <= exact:
                return None
        return [found[t] for t in known.outputs]

    def relative_tolerance(self, numbers: Numbers) -> float:
        """How far right results may be apart, as a part of the largest magnitude."""
        at, planned = concrete(self.graph, numbers), concrete(self.graph)
        growth = max(1.0, _points(at) / max(1, _points(planned)))
        return growth * general_tolerance(self.written.results)


def opened(written: Written, rng: random.Random) -> OpenGraph | None:
    """A function with one or two sizes left open; None where it leaves none free."""
    with ir.Context():
        module = ir.Module.parse(written.text)
        lifted = lift(list(module.body.operations)[-1], {})
        assert lifted is not None
        return _opened(written, lifted, rng)


def _opened(written: Written, lifted: Lifted, rng: random.Random) -> OpenGraph | None:
    own = lifted.graph
    arguments = list(lifted.block.arguments)
    given = {t: lifted.values[t] for t in own.inputs}
    if any(isinstance(op, Opaque) for op in own.ops) or set(given.values()) - {*arguments}:
        return None
    sizes_free = free_sizes(own, shifted=True)
    free = [f for f in sizes_free if any(e[0] == 0 and e[1] in given for e in f.more)]
    if not free or not own.outputs:
        return None
    sizes: dict[End, int] = {}
    for place, group in enumerate(_chosen(free, rng)):
        size = _symbol(f"s{place}", group.size, rng)
        sizes |= {end: size + more for end, more in group.more.items()}
    graph = with_sizes_at(own, sizes)
    ranges = {}
    for tensor, value in given.items():
        argument = written.arguments[arguments.index(value)]
        ranges[tensor] = (argument.low, argument.high)
    found = sorted({linear(size)[0] for size in sizes.values()})  # type: ignore[index]
    cases = tuple(_cases(graph, found, rng))
    constants = _constants(written, lifted)
    if constants is None or not cases:
        return None
    return OpenGraph(written, graph, cases, constants, ranges)


def _chosen(free: Sequence[FreeSize], rng: random.Random) -> list[FreeSize]:
    """Some sizes to leave open, those that much depends on most often."""
    left, found = list(free), []
    for _ in range(min(len(free), rng.randint(1, MOST_OPEN))):
        found.append(rng.choices(left, [len(f.more) ** 2 for f in left])[0])
        left.remove(found[-1])
    return found


def _symbol(name: str, size: int, rng: random.Random) -> int:
    """A symbol with a range and a divisor, or one that nothing is stated of."""
    if rng.random() < 0.5:
        return symbol(name, planned=size)
    divisor = rng.choice([1, 2, 4, 8])
    return symbol(name, divisor, LARGEST_RANGE, divisor, max(size, divisor))


def _cases(graph: Graph, found: Sequence[Symbol], rng: random.Random) -> list[Numbers]:
    """Sizes to run at: all of them the least that they can be, then others, never too large."""
    cases: list[Numbers] = []
    for number in range(3 * CASES):
        sizes = [1 if number == 0 else rng.choice(TRIED) for _ in found]
        numbers = {s.name: max(1, n // divided(s)[1]) for s, n in zip(found, sizes, strict=True)}
        if numbers not in cases and _points(concrete(graph, numbers)) <= MOST_POINTS:
            cases.append(numbers)
    return cases[:CASES]


def _points(graph: Graph) -> int:
    """Points of the largest iteration domain, or elements of the largest tensor."""
    domains = (math.prod(op.domain) for op in graph.ops if isinstance(op, Structured))
    return max(0, *domains, *(kind.elements for kind in graph.types))


def _constants(written: Written, lifted: Lifted) -> dict[int, tuple[str, Array]] | None:
    """The constants of a function; None where one is a tensor without contents."""
    arrays = iter([c for c in written.constants if c.size])  # empty ones are not lifted
    found = {}
    for op in lifted.graph.ops:
        if isinstance(op, Constant):
            owner = lifted.values[op.result].owner
            if owner.name != "arith.constant":
                return None
            found[op.result] = (str(owner).partition(" = ")[2], next(arrays))
    return found
