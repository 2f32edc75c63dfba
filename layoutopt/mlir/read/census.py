"""Count what moves data in a module, by the ops that it holds and not by what a plan meant.

A move is a ``linalg.pack``, a ``linalg.unpack``, a ``linalg.transpose``, or a ``linalg.generic``
whose body only hands its one input on, where each loop stands once in the maps of input and result,
and in another order: a transpose, or a copy of windows (``d1 * 2 + d4``). Each op counts
once wherever it stands (in a loop, a branch, a dispatch region, a private function) and however
often it runs. What is ready ahead of the first call counts apart: ops inside a
``util.initializer``, and ops that read nothing but constants (literals, globals that no store
changes, tensors without values), directly or through other such ops. Calls, and what a function
takes as arguments, are not constants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from iree.compiler import ir

from layoutopt.mlir.read.attribute import value_of
from layoutopt.mlir.read.globals import constant_globals
from layoutopt.mlir.read.lift import Lifted
from layoutopt.mlir.read.state import tensor_type

_NAMED = {"linalg.pack": "pack", "linalg.unpack": "unpack", "linalg.transpose": "transpose"}
_LITERALS = (
    "arith.constant",
    "flow.tensor.constant",
    "tensor.empty",
    "ml_program.global_load_const",
)
_LOADS = ("util.global.load", "ml_program.global_load")
_FUNCTIONS = ("func.func", "util.func")
_INITIALIZER = "util.initializer"
_DIM = re.compile(r"d\d+")


@dataclass(frozen=True, slots=True)
class Move:
    """An op that moves data; types as MLIR writes them."""

    function: str
    """The symbol that it stands in; empty for an initializer."""
    kind: str
    """``pack``, ``unpack`` or ``transpose``."""
    is_im2col: bool
    """Whether a transpose copies windows (im2col), which may overlap."""
    op: str
    source: str
    result: str
    size_bytes: int | None
    """Read and written in one run of the op; None where a size is dynamic."""
    inside: str
    """The op of the function that holds it in a region; empty where it stands by itself."""
    reached: bool
    """Whether a plan of the function would write it anew."""


@dataclass(frozen=True, slots=True)
class ModuleCensus:
    """The moves of a module, in its order."""

    runs: tuple[Move, ...] = ()
    """Those of each call."""
    ahead: tuple[Move, ...] = ()
    """Those that are done when the module is compiled or loaded."""

    def count(self, kind: str) -> int:
        """How many of one kind run on each call."""
        return sum(move.kind == kind for move in self.runs)

    @property
    def im2col(self) -> int:
        """How many of the transposes of each call are im2col copies."""
        return sum(move.is_im2col for move in self.runs)


def census(module: Any, planned: Sequence[Lifted] = ()) -> ModuleCensus:
    """Walk a module; ``planned`` are the blocks in it whose ops a plan is to write anew."""
    walk = _Walk(module, planned)
    walk.block(module.regions[0].blocks[0], _Place())
    return ModuleCensus(tuple(walk.runs), tuple(walk.ahead))


def stored_globals(module: Any) -> dict[str, int]:
    """The bytes of each static tensor that a module holds as a global, by symbol.

    An initializer computes it, or it has its elements from the start; parameters are left out.
    """
    stored: set[str] = set()
    sizes: dict[str, int] = {}

    def visit(op: Any) -> Any:
        if op.name == "util.global.store" and op.parent.name == _INITIALIZER:
            stored.add(ir.FlatSymbolRefAttr(op.attributes["global"]).value)
        return ir.WalkResult.ADVANCE

    module.walk(visit)
    for op in module.regions[0].blocks[0].operations:
        if op.operation.name != "util.global":
            continue
        kind = tensor_type(ir.TypeAttr(op.operation.attributes["type"]).value)
        symbol = ir.StringAttr(op.operation.attributes["sym_name"]).value
        if kind is not None and (symbol in stored or _has_elements(op)):
            sizes[symbol] = kind.size_bytes
    return sizes


def _has_elements(op: Any) -> bool:
    attributes = op.operation.attributes
    value = value_of(attributes, "initial_value") if "initial_value" in attributes else None
    return isinstance(value, ir.DenseElementsAttr | ir.DenseResourceElementsAttr)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a walk stands: the function, the op of it that holds the region, and what that is."""

    function: str = ""
    inside: str = ""
    reached: bool = False
    ahead: bool = False


class _Walk:
    def __init__(self, module: Any, planned: Sequence[Lifted]) -> None:
        self.globals = constant_globals(module)
        self.planned = {op.operation for block in planned for op in block.planned}
        self.constants: set[Any] = set()
        self.runs: list[Move] = []
        self.ahead: list[Move] = []

    def block(self, block: Any, place: _Place) -> None:
        """Ops come in order, so that what one reads has been seen."""
        for op in block.operations:
            self._op(op.operation, place)

    def _op(self, op: Any, place: _Place) -> None:
        if op.name in _FUNCTIONS:
            place = _Place(function=ir.StringAttr(op.attributes["sym_name"]).value)
        elif op.name == _INITIALIZER:
            place = _Place(ahead=True)
        elif place.function and not place.reached:
            place = replace(place, reached=op in self.planned)
        fixed = self._is_constant(op)
        if fixed:
            self.constants.update(op.results)
        kind = _NAMED.get(op.name) or ("transpose" if _permutes(op) else None)
        if kind is not None:
            (self.ahead if fixed or place.ahead else self.runs).append(_move(op, kind, place))
        if place.function and op.name not in _FUNCTIONS:
            place = replace(place, inside=place.inside or op.name)
        for region in op.regions:
            for block in region.blocks:
                self.block(block, place)

    def _is_constant(self, op: Any) -> bool:
        if op.name in _LITERALS:
            return True
        if op.name in _LOADS:
            return ir.FlatSymbolRefAttr(op.attributes["global"]).value in self.globals
        read = list(_read(op))
        return bool(read) and ".call" not in op.name and all(v in self.constants for v in read)


def _read(op: Any) -> Iterator[Any]:
    """The values that an op reads, itself or from outside inside its regions."""
    yield from op.operands
    made: set[Any] = set()
    for region in op.regions:
        for block in region.blocks:
            made.update(block.arguments)
            for inner in block.operations:
                yield from (v for v in _read(inner.operation) if v not in made)
                made.update(inner.operation.results)


def _move(op: Any, kind: str, place: _Place) -> Move:
    source, result = op.operands[0].type, op.results[0].type
    types = [tensor_type(source), tensor_type(result)]
    sizes = [t.size_bytes for t in types if t is not None]
    return Move(
        place.function,
        kind,
        _is_im2col(op),
        op.name,
        str(source),
        str(result),
        sum(sizes) if len(sizes) == len(types) else None,
        place.inside,
        place.reached,
    )


def _permutes(op: Any) -> bool:
    """Whether a generic only hands its one input on, with its loops in another order."""
    if op.name != "linalg.generic" or len(op.results) != 1:
        return False
    block = op.regions[0].blocks[0]
    operations = list(block.operations)
    if len(operations) != 1 or operations[0].operation.operands[0] != block.arguments[0]:
        return False
    maps = ir.ArrayAttr(op.attributes["indexing_maps"])
    if len(maps) != 2:
        return False
    source, result = (_DIM.findall(str(m).partition("->")[2]) for m in maps)
    return reorders(source, result)


def reorders(source: Sequence[object], result: Sequence[object]) -> bool:
    """Whether the loops of two maps are the same, each once, in another order."""
    return (
        {*source} == {*result}
        and len({*source}) == len(source) == len(result)
        and (list(source) != list(result))
    )


def _is_im2col(op: Any) -> bool:
    """Whether some dim is read through a window: its place is more than one loop's."""
    if op.name != "linalg.generic":
        return False
    source = ir.AffineMapAttr(ir.ArrayAttr(op.attributes["indexing_maps"])[0]).value
    return any(len(_DIM.findall(str(form))) > 1 for form in source.results)
