"""MLIR modules as values that the rest of layoutopt can hold without knowing MLIR."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from iree.compiler import ir

from layoutopt.errors import InputError, LoweringError
from layoutopt.files.written import written_atomically
from layoutopt.ir.graph import Constant, Graph, Opaque
from layoutopt.ir.layout import Layout
from layoutopt.ir.lowered import Lowered
from layoutopt.ir.planned_sizes import planned_for, renamed_size, renamed_sizes, size_for
from layoutopt.ir.size import planned
from layoutopt.ir.types import TensorType
from layoutopt.mlir.parse import (
    FLAGS_ATTRIBUTE,
    MATCHING,
    check_names,
    first_message,
    parsed,
    symbol_name,
)
from layoutopt.mlir.read.boundary import fixed_tensors, referred_functions
from layoutopt.mlir.read.calls import called_functions
from layoutopt.mlir.read.carried import CarriedValues, with_carried
from layoutopt.mlir.read.census import ModuleCensus, census, stored_globals
from layoutopt.mlir.read.entry import Boundary, Exported, boundary_of, exported_functions
from layoutopt.mlir.read.globals import constant_globals
from layoutopt.mlir.read.initializers import external_tensors
from layoutopt.mlir.read.lift import Lifted, lift_blocks
from layoutopt.mlir.read.parameters import Parameter, module_parameters
from layoutopt.mlir.read.weight_names import with_weight_names
from layoutopt.mlir.write.ahead_of_loops import ahead_of_loops, distribute_loops, numbered
from layoutopt.mlir.write.assumed import check_assumption
from layoutopt.mlir.write.dead_ops import erase_dead_ops
from layoutopt.mlir.write.hoisting import hoist_weights
from layoutopt.mlir.write.relaid import Relaid
from layoutopt.mlir.write.specialize import Branch, splice_branches
from layoutopt.mlir.write.splice import splice
from layoutopt.mlir.write.unrolling import of_layers, unroll_loops
from layoutopt.mlir.write.weight_globals import WeightGlobals

_FUNCTIONS = ("func.func", "util.func")


@dataclass(frozen=True)
class Module:
    """A parsed module and the blocks in it that have something to plan."""

    operation: Any
    blocks: tuple[Lifted, ...]
    """Bodies of functions in module order, each before the blocks inside it."""
    branching: tuple[tuple[str, int], ...] = ()
    """Functions of several blocks: name and number of blocks."""
    carried: tuple[CarriedValues, ...] = ()
    """What control flow hands on; graphs are numbered as ``blocks``."""
    calls: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """By private function that calls alone name, the place of the block of each of them."""
    ahead: Mapping[str, int] = field(default_factory=dict)
    """By block of a loop, how many of its contractions are computed ahead of it."""
    written_out: Mapping[str, int] = field(default_factory=dict)
    """By block of a loop whose steps are written one after another now, how many these are."""

    @property
    def graphs(self) -> tuple[Graph, ...]:
        """One graph per block."""
        return tuple(b.graph for b in self.blocks)

    @property
    def names(self) -> tuple[str, ...]:
        """The symbol names of the functions, and the names of blocks inside them."""
        return tuple(b.name for b in self.blocks)

    def entry(self, symbol: str) -> int | None:
        """The place of the block that a call of a function begins with; None where it has none."""
        found = (i for i, b in enumerate(self.blocks) if b.function == symbol and b.is_entry)
        return next(found, None)

    @property
    def uncounted(self) -> dict[str, tuple[str, ...]]:
        """By block, those of the blocks around it, and itself, that do not tell how often they run.

        Blocks that all have a trip count are left out.
        """
        found: dict[str, tuple[str, ...]] = {}
        for block in self.blocks:
            name = exported_name(block.name)
            own = (name,) if block.trips is None else ()
            found[name] = (*found.get(block.enclosing, ()), *own)
        return {name: blocks for name, blocks in found.items() if blocks}

    def runs(
        self,
        trip_counts: Mapping[str, int] = MappingProxyType({}),
        unknown: int = 1,
        sizes: Mapping[str, int] = MappingProxyType({}),
    ) -> tuple[int, ...]:
        """How often each block runs in one call of its function, each branch counted as taken.

        Of a private function that calls alone name: in one call of each of those from outside;
        calls by itself do not count. ``trip_counts``: of blocks that do not tell how often they
        run, by name; others run ``unknown`` times. ``sizes``: those that loops over open sizes run
        at, by name; others are those planned for.
        """
        within: dict[str, int] = {}
        for block in self.blocks:
            name = exported_name(block.name)
            if block.trips is None:
                trips = trip_counts.get(name, unknown)
            else:
                trips = max(0, planned(size_for(block.trips, sizes)))
            within[name] = within.get(block.enclosing, 1) * trips
        own = [within[exported_name(block.name)] for block in self.blocks]

        times = {f: self._calls_of(f, own) for f in {b.function for b in self.blocks}}
        return tuple(n * times[b.function] for n, b in zip(own, self.blocks, strict=True))

    def _calls_of(
        self, function: str, runs: Sequence[int], through: frozenset[str] = frozenset()
    ) -> int:
        """How often a function is called, but for calls by those that it is called through.

        ``runs``: of each block in one call of its function.
        """
        through |= {function}
        callers = [(self.blocks[b].function, runs[b]) for b in self.calls.get(function, ())]
        known = (n * self._calls_of(by, runs, through) for by, n in callers if by not in through)
        return sum(known) or 1

    def with_names(self, names: Mapping[str, str]) -> Module:
        """The same with other names of open sizes; those of one name are one size."""
        blocks = (
            replace(
                b,
                graph=renamed_sizes(b.graph, names),
                sizes=b.sizes.renamed(names),
                trips=None if b.trips is None else renamed_size(b.trips, names),
            )
            for b in self.blocks
        )
        return replace(self, blocks=tuple(blocks))

    def planned_for(self, sizes: Mapping[str, int]) -> Module:
        """The same with other sizes to plan for, by name."""
        blocks = (
            replace(
                b,
                graph=planned_for(b.graph, sizes),
                trips=None if b.trips is None else size_for(b.trips, sizes),
            )
            for b in self.blocks
        )
        return replace(self, blocks=tuple(blocks))

    @cached_property
    def parameters(self) -> dict[Parameter, TensorType | None]:
        """The parameters that the module leaves outside, with their types (None: not static)."""
        return module_parameters(self.operation)

    @cached_property
    def exported(self) -> tuple[Exported, ...]:
        """The functions that a caller can call, those that branch among them."""
        return exported_functions(self.operation, _FUNCTIONS)

    def boundary(self, block: int) -> Boundary:
        """Arguments and results of a function; asked for before its plan takes its place."""
        return boundary_of(self.blocks[block])

    def census(self, planned: Sequence[int] = ()) -> ModuleCensus:
        """What moves data in the module as it stands; ``planned``: blocks yet to be replaced."""
        return census(self.operation, [self.blocks[i] for i in planned])

    @property
    def stored_globals(self) -> dict[str, int]:
        """The bytes of each tensor that the module holds as a global, by symbol."""
        return stored_globals(self.operation)

    def replace_all(
        self,
        lowered: Mapping[int, Lowered],
        carried: Mapping[str, Layout] = MappingProxyType({}),
        specialized: Mapping[int, Sequence[Branch]] = MappingProxyType({}),
    ) -> None:
        """Put lowered plans, by place, in place of the blocks' ops. Raises LoweringError.

        A block goes ahead of those whose values it captures. ``carried``: the layouts of what
        control flow hands on, by name. ``specialized``: functions with a plan for each of several
        ranges of their sizes.
        """
        for place in (*lowered, *specialized):
            for stated in self.blocks[place].sizes.assumptions:
                check_assumption(stated)
        relaid = Relaid(self.blocks, self.carried, carried)
        inside = [i for i in lowered if not self.blocks[i].is_whole]
        whole = [i for i in lowered if self.blocks[i].is_whole]
        made: dict[Hashable, str] = {}
        for place in (*sorted(inside, reverse=True), *sorted(whole)):
            self.replace(place, lowered[place], made, relaid.blocks[place])
        for place, branches in specialized.items():
            block = relaid.blocks[place]
            hoisted = [(ranges, self._hoisted(block, plan)) for ranges, plan in branches]
            splice_branches(block, hoisted, self._weight_globals(made))
        functions = dict.fromkeys(self.blocks[i].function for i in inside)
        for op in self.operation.regions[0].blocks[0].operations:
            if "sym_name" in op.operation.attributes and symbol_name(op) in functions:
                erase_dead_ops(op)
        relaid.finish()

    def unroll(self) -> dict[str, int]:
        """Unroll loops whose plans are in place; by block, how many steps a trip runs then."""
        return unroll_loops(self.operation, self.blocks)

    def replace(
        self,
        block: int,
        lowered: Lowered,
        made: dict[Hashable, str] | None = None,
        relaid: Lifted | None = None,
    ) -> None:
        """Put a lowered plan in place of a block's ops. Raises LoweringError.

        ``made``: by meaning, the globals of weights that other plans hoisted; its own are added.
        ``relaid``: the block where control flow hands tensors on in other layouts.
        """
        lifted = relaid or self.blocks[block]
        weights = self._weight_globals({} if made is None else made)
        splice(lifted, self._hoisted(lifted, lowered), weights)

    def _weight_globals(self, made: dict[Hashable, str]) -> WeightGlobals:
        body = self.operation.regions[0].blocks[0].operations
        symbols = {symbol_name(op) for op in body if "sym_name" in op.operation.attributes}
        return WeightGlobals(symbols, made)

    def _hoisted(self, lifted: Lifted, lowered: Lowered) -> Lowered:
        constants = [op.result for op in lifted.graph.ops if isinstance(op, Constant)]
        return hoist_weights(lowered, constants, external_tensors(lifted, self.operation))

    def write(self, path: Path, compile_flags: Sequence[str]) -> None:
        """Write the module with the flags it is to be compiled with; whole or not at all."""
        self._record(compile_flags)
        try:
            self.operation.verify()
        except ir.MLIRError as error:
            raise LoweringError(
                str(path),
                "a module that verifies",
                first_message(error),
                "report this as a bug of layoutopt",
            ) from error
        with written_atomically(path) as partial, partial.open("wb") as file:
            if path.suffix == ".mlirbc":
                self.operation.write_bytecode(file)
            else:
                self.operation.print(file=file, binary=True)

    def copied(self, context: Any, compile_flags: Sequence[str]) -> Any:
        """An ``ir.Module`` of ``context``, or of a context of its own, flags recorded inside."""
        self._record(compile_flags)
        return ir.Module.parse(str(self.operation), context or ir.Context())

    def _record(self, compile_flags: Sequence[str]) -> None:
        with self.operation.context:
            self.operation.attributes[FLAGS_ATTRIBUTE] = ir.ArrayAttr.get(
                [ir.StringAttr.get(flag) for flag in compile_flags]
            )


def parse_module(path: Path, model: Path | None = None) -> Module:
    """Read a module of linalg on tensors, textual or bytecode, that is known to be whole.

    ``model``: what the user knows it by, where it was made from another file. What a user gives
    goes through `reread` first. Raises InputError with line and column where it does not parse, and
    where it holds no function.
    """
    return _module(_checked(path, model))


def parse_for_planning(path: Path, model: Path | None = None) -> Module:
    """The same with what its loops compute of their steps alone put ahead of them.

    Loops over layers are written out.
    """
    operation = _checked(path, model)
    places = numbered(operation)
    module = _module(operation)
    ahead = ahead_of_loops(module.blocks, places)
    layers = {places[b.block.arguments[0]][0]: b for b in of_layers(module.blocks)}
    if not ahead and not layers:
        return module
    operation = _checked(path, model)
    steps = {place: b.steps.values for place, b in layers.items() if b.steps and b.steps.values}
    distribute_loops(operation, ahead, steps)
    return replace(
        _module(operation),
        ahead={exported_name(each.loop): len(each.found.contractions) for each in ahead},
        written_out={b.shown: len(steps[place]) for place, b in layers.items()},
    )


def _checked(path: Path, model: Path | None) -> Any:
    """The module operation, which holds functions. Raises InputError."""
    operation = parsed(path, MATCHING)
    check_names(operation, model or path)
    if not _functions(operation):
        raise InputError(
            str(model or path),
            "a module with at least one function",
            "none",
            "give the module that holds the model's functions",
        )
    return operation


def _functions(operation: Any) -> list[Any]:
    bodies = operation.regions[0].blocks[0].operations
    return [op for op in bodies if op.operation.name in _FUNCTIONS]


def _module(operation: Any) -> Module:
    functions = _functions(operation)
    constants = constant_globals(operation)
    referred = referred_functions(operation)
    lifted = (_bounded(b, referred) for f in functions for b in lift_blocks(f, constants))
    counts = {symbol_name(f): sum(len(list(r.blocks)) for r in f.regions) for f in functions}
    blocks, carried = with_carried(operation, tuple(with_weight_names(lifted)))
    return Module(
        operation,
        blocks,
        tuple((name, count) for name, count in counts.items() if count > 1),
        carried,
        _calls(operation, blocks),
    )


def _calls(operation: Any, blocks: Sequence[Lifted]) -> dict[str, tuple[int, ...]]:
    place = {block.block: i for i, block in enumerate(blocks)}
    return {
        called.symbol: tuple(place[call.block] for call in called.calls if call.block in place)
        for called in called_functions(operation)
    }


def _bounded(lifted: Lifted, referred: frozenset[str]) -> Lifted:
    """The block with what the module says about its inputs and outputs."""
    return replace(lifted, graph=replace(lifted.graph, fixed=fixed_tensors(lifted, referred)))


def has_work(graph: Graph) -> bool:
    """Whether a graph holds anything that a plan could change."""
    return any(
        not isinstance(op, Opaque) and not all(t in graph.constants for t in op.outputs)
        for op in graph.ops
    )


def exported_name(name: str) -> str:
    """The name that the user knows: IREE's import keeps the body in ``@name$async``."""
    return name.removesuffix("$async")
