"""Lift functions of linalg on tensors into graphs: one for each block.

The blocks of control flow are graphs of their own, behind that of the block they stand in. In the
graph around it, the op that holds them is an ``Opaque`` one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from iree.compiler import ir

from layoutopt.ir.concrete import with_sizes
from layoutopt.ir.graph import Constant, Graph
from layoutopt.ir.layout import Layout
from layoutopt.ir.size import MOST, bounds, planned, symbol, symbols
from layoutopt.ir.steps import Steps
from layoutopt.mlir.read.captured import capture
from layoutopt.mlir.read.decomposed import decompose
from layoutopt.mlir.read.dominators import dominated
from layoutopt.mlir.read.handed_sizes import Known, branched_sizes, handed_sizes
from layoutopt.mlir.read.lift_op import lift_op
from layoutopt.mlir.read.regions import Body, bodies
from layoutopt.mlir.read.run_time_scalars import realize, realize_elsewhere
from layoutopt.mlir.read.sizes import Sizes, as_index
from layoutopt.mlir.read.state import State, add_symbols, given, known_type

ASYNC = "$async"


@dataclass(frozen=True)
class Lifted:
    """A block's graph and where its tensors stand in the module.

    ``values[t]`` is the MLIR value of tensor t, for those that the module already holds.
    """

    name: str
    """The function's symbol where the block is all of its body, else a name as ``main/for.0``."""
    graph: Graph
    values: dict[int, Any]
    block: Any
    stages: dict[int, int]
    """For each tensor given from outside: how many kept ops must come before its uses."""
    kept: tuple[Any, ...]
    """Ops that stay where they are, in order; the last one is the terminator."""
    planned: tuple[Any, ...]
    """Ops that the plan writes anew, in order."""
    sizes: Sizes
    """Where the values of symbols are."""
    function: str = ""
    """The symbol of the function that the block stands in."""
    enclosing: str = ""
    """The name of the block that it runs in; empty where it runs once a call of the function."""
    trips: int | None = 1
    """How often it runs each time that the enclosing block does, see `Body.trips`."""
    steps: Steps | None = None
    """Of a loop's body: what its first argument counts through, see `Body.steps`."""
    taken: Mapping[int, Any] = field(default_factory=dict)
    """By tensor, the value of those that come in another layout than that of the graph."""
    handed: Mapping[tuple[int, Layout], tuple[Any, ...]] = field(default_factory=dict)
    """What control flow reads in other layouts, in place of the conversions that plans make."""

    @property
    def listed_sizes(self) -> dict[int, tuple[int, ...]]:
        """Tensors from outside the graph that list known sizes, and these."""
        found: dict[int, tuple[int, ...]] = {}
        for tensor in self.graph.inputs:
            made_by = getattr(self.values[tensor].owner, "operation", None)
            if made_by is None or made_by.name != "tensor.from_elements":
                continue
            numbers = [self._number(v) for v in made_by.operands]
            known = tuple(n for n in numbers if n is not None)
            if len(known) == len(numbers):
                found[tensor] = known
        return found

    def _number(self, value: Any) -> int | None:
        stated = _stated(value)
        found = self.sizes.number_of(value, {}) if stated is None else stated
        return None if isinstance(found, bool) else found

    @property
    def shown(self) -> str:
        """The name as the user knows it."""
        return _shown(self.name)

    @property
    def is_whole(self) -> bool:
        """Whether the block is all of a function."""
        return self.name == self.function

    @property
    def is_entry(self) -> bool:
        """Whether a call of the function begins with the block."""
        function = self.block.owner
        return not self.enclosing and self.block == function.regions[0].blocks[0]


def _stated(value: Any) -> int | None:
    """The number that a constant states; None for any other value."""
    made_by = getattr(value.owner, "operation", None)
    if made_by is None or made_by.name != "arith.constant":
        return None
    stated = made_by.attributes["value"]
    return stated.value if isinstance(stated, ir.IntegerAttr) else None


def lift(function: Any, constants: Mapping[str, Any]) -> Lifted | None:
    """The graph of a function with one block, None for a declaration or several blocks.

    ``constants``: the immutable globals, see `constant_globals`.
    """
    regions = list(function.operation.regions)
    if len(regions) != 1 or len(list(regions[0].blocks)) != 1:
        return None
    symbol = _symbol(function)
    walk = _Walk(constants, symbol, inside=False)
    walk.block(regions[0].blocks[0], Body(symbol), ())
    return walk.found[0]


def lift_blocks(function: Any, constants: Mapping[str, Any]) -> tuple[Lifted, ...]:
    """The graphs of all blocks of a function, each ahead of those that capture its values."""
    symbol = _symbol(function)
    walk = _Walk(constants, symbol)
    for region in function.operation.regions:
        walk.region(region, Body(symbol), ())
    return tuple(walk.found)


def _symbol(function: Any) -> str:
    attributes = function.operation.attributes
    return ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else ""


@dataclass
class _Walk:
    constants: Mapping[str, Any]
    function: str
    inside: bool = True
    """Whether the blocks of control flow are lifted too."""
    found: list[Lifted] = field(default_factory=list)
    handed: dict[Any, Known] = field(default_factory=dict)
    """By tensor that control flow hands on, the sizes that it keeps."""

    def region(self, region: Any, body: Body, around: Sequence[State]) -> None:
        """Lift all blocks of a region. ``around``: what is known outside, innermost first."""
        blocks = list(region.blocks)
        if len(blocks) == 1:
            self.block(blocks[0], body, around)
        if len(blocks) < 2:
            return
        states: dict[int, tuple[State, ...]] = {}
        order = tuple(dominated(blocks))
        for place, above in order:
            known = around if above is None else states[above]
            state = self.block(blocks[place], self._one_of(body, place), known)
            states[place] = (state, *known)
            if above is None:
                self.handed |= branched_sizes(state, blocks, order)

    def _one_of(self, body: Body, place: int) -> Body:
        name = f"{_shown(body.name)}{'.' if body.enclosing else '/'}block.{place}"
        return Body(name, body.enclosing, body.trips if place == 0 else None)

    def block(self, block: Any, body: Body, around: Sequence[State]) -> State:
        """Lift a block, and those inside it."""
        _, _, inner = body.name.removeprefix(_shown(self.function)).partition("/")
        prefix = f"{inner.replace('/', '.')}." if inner else ""
        state = State(handed=self.handed, prefix=prefix)
        capture(state, block, around)
        decompose(block)
        operations = list(block.operations)
        if body.steps:
            _name_step(state.sizes, block, f"{prefix}step", body.steps)
        for position, argument in enumerate(block.arguments):
            add_symbols(state, argument, f"{prefix}arg{position}")
            kind = known_type(state, argument)
            if kind is not None:
                given(state, argument, kind)
        place = len(self.found)
        seen: Counter[str] = Counter()
        for op in operations[:-1]:
            if self.inside:
                self.handed |= handed_sizes(state, op)
            for region, found in self._bodies(state, op, body, seen):
                self.region(region, found, (state, *around))
            lift_op(state, op, self.constants)
        if len(list(block.region.blocks)) > 1:
            realize_elsewhere(state, block)
        realize(state, operations[-1])
        state.keep(operations[-1])
        self.found.insert(place, _lifted(state, block, body, self.function))
        return state

    def _bodies(
        self, state: State, op: Any, body: Body, seen: Counter[str]
    ) -> Iterator[tuple[Any, Body]]:
        return bodies(state, op, _shown(body.name), seen) if self.inside else iter(())


def _name_step(sizes: Sizes, block: Any, name: str, steps: Steps) -> None:
    """Let the variable of a loop be a symbol: index arithmetic is worked out with it."""
    middle = steps.first + steps.by * (planned(steps.count) // 2)
    most = min(bounds(steps.last)[1], MOST)
    make = partial(symbol, low=steps.first, high=int(most), planned=middle)
    variable = block.arguments[0]
    step = sizes.name(name, make, as_index(variable), 0)
    sizes.numbers[variable] = step
    for one in symbols(step):
        sizes.ends[one.name] = (steps.first, steps.last)


def _shown(name: str) -> str:
    """The name as the user knows it, see `exported_name`."""
    return name.removesuffix(ASYNC)


def _lifted(state: State, block: Any, body: Body, function: str) -> Lifted:
    graph = with_sizes(state.builder.build(state.inputs, state.outputs), state.sizes.resolved)
    leaves = {state.values[op.result] for op in graph.ops if isinstance(op, Constant)}
    return Lifted(
        body.name,
        graph,
        state.values,
        block,
        state.stages,
        tuple(state.kept),
        tuple(op for op in state.planned if op.operation.results[0] not in leaves),
        state.sizes,
        function,
        body.enclosing,
        body.trips,
        body.steps,
    )
