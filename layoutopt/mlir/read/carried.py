"""Where control flow, calls or state hand tensors on: the values of blocks that are one tensor.

Tensors whose sizes are known at run time only are one where all blocks know these to be the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from iree.compiler import ir

from layoutopt.ir.carried import Carried, Place
from layoutopt.ir.size import Symbol, one_symbol, symbols, with_symbols
from layoutopt.mlir.read.calls import CalledFunction, called_functions
from layoutopt.mlir.read.handed_sizes import branch_operands
from layoutopt.mlir.read.lift import ASYNC, Lifted
from layoutopt.mlir.read.state_globals import StateGlobal, state_globals

Uses = frozenset[tuple[Any, int]]
"""Operands of ops, by number."""


@dataclass(frozen=True, slots=True)
class Link:
    """Values that control flow makes one: those made, and operands (op, number) that are read."""

    name: str
    made: tuple[Any, ...]
    read: tuple[tuple[Any, int], ...]
    state: StateGlobal | None = None
    """The global whose loads and stores they are."""
    called: CalledFunction | None = None
    """The function that takes or returns them."""


@dataclass(frozen=True, slots=True)
class Capture:
    """A value that blocks inside read, and the op, in its own block, that holds the first."""

    value: Any
    holder: Any


@dataclass(frozen=True, slots=True)
class CarriedValues:
    """A carried tensor with its values in the module."""

    tensor: Carried
    values: Link | Capture
    uses: Uses
    """The operands that read it."""


def with_carried(
    module: Any, blocks: Sequence[Lifted]
) -> tuple[tuple[Lifted, ...], tuple[CarriedValues, ...]]:
    """The blocks, each with the outputs that are only handed on, and the carried tensors."""
    places = _Places(blocks)
    links = [link for b in blocks for op in b.kept for link in _links(op.operation, places)]
    links += [link for b in blocks for link in _of_branches(b, places)]
    links += [link for called in called_functions(module) for link in _of_calls(called)]
    links += map(_of_state, state_globals(module))
    found = [carried for carried in map(places.linked, links) if carried is not None]
    captures = [*places.captured()]
    uses: Uses = frozenset(use for carried in (*found, *captures) for use in carried.uses)
    known = [c for c in found if not any(places.is_lost(p, uses) for p in c.tensor.made)]
    known += captures
    readers = {use: carried.tensor.name for carried in known for use in carried.uses}
    inside = {place for carried in captures for place in carried.tensor.made}
    return (
        tuple(
            _with_handed(block, readers, frozenset(t for place, t in inside if place == number))
            for number, block in enumerate(blocks)
        ),
        tuple(known),
    )


class _Places:
    """Which graph and tensor each value of a module is."""

    def __init__(self, blocks: Sequence[Lifted]) -> None:
        self.blocks = blocks
        self.number = {block.block: i for i, block in enumerate(blocks)}
        self._tensors = [{value: t for t, value in b.values.items()} for b in blocks]
        self.planned = [{op.operation for op in b.planned} for b in blocks]

    def name(self, block: Any) -> str:
        """What the control flow around a block is called; empty where the block has no graph."""
        if block not in self.number:
            return ""
        lifted = self.blocks[self.number[block]]
        last = lifted.name.rpartition("/")[2].split(".")[:2]
        return f"{lifted.enclosing}/{'.'.join(last)}"

    def linked(self, link: Link) -> CarriedValues | None:
        """A link as a carried tensor; None where its values are not all tensors of one type."""
        made = [self._made(value) for value in link.made]
        read = [self._read(op, number) for op, number in link.read]
        kinds = {value.type for value in link.made}
        if link.state is not None:
            kinds.add(ir.TypeAttr(link.state.op.attributes["type"]).value)
        kinds |= {op.operands[number].type for op, number in link.read}
        places = [place for place in (*made, *read) if place is not None]
        if len(kinds) > 1 or len(places) < len(made) + len(read):
            return None
        if not all(map(_may_move, kinds)) or not self._of_one_shape(places):
            return None
        if link.state is not None and not all(kind.has_static_shape for kind in kinds):
            return None
        taken, handed = places[: len(made)], places[len(made) :]
        tensor = Carried(link.name, tuple(taken), tuple(handed), link.state is not None)
        return CarriedValues(tensor, link, frozenset(link.read))

    def _of_one_shape(self, places: Sequence[Place]) -> bool:
        """Whether a tensor has the same sizes everywhere, open ones of the same values."""
        found: set[tuple[tuple[int, ...], frozenset[tuple[str, Any]]]] = set()
        for number, tensor in places:
            block = self.blocks[number]
            shape = block.graph.types[tensor].shape
            names = {symbol.name for size in shape for symbol in symbols(size)}
            values = frozenset((name, block.sizes.values[name]) for name in names)
            found.add((tuple(map(_bare, shape)), values))
        return len(found) == 1

    def captured(self) -> Iterator[CarriedValues]:
        """The tensors that blocks read from outside, where nothing but planned ops reads them."""
        found: dict[Any, list[Place]] = {}
        for place, block in enumerate(self.blocks):
            for tensor in block.graph.inputs:
                value = block.values[tensor]
                if self._home(value) != block.block and _may_move(value.type):
                    found.setdefault(value, []).append((place, tensor))
        seen: Counter[int] = Counter()
        for value, inside in found.items():
            uses = self._uses_inside(value)
            if uses is None or self._home(value) not in self.number:
                continue
            home = self.number[self._home(value)]
            outside = self._tensors[home].get(value)
            holder = self._holder(self.blocks[home].block, [place for place, _ in inside])
            if holder is None or outside is None:
                continue
            if outside not in self.blocks[home].graph.outputs:
                continue
            if not self._of_one_shape([*inside, (home, outside)]):
                continue
            name = f"{self.blocks[home].name.removesuffix(ASYNC)} captured {seen[home]}"
            seen[home] += 1
            carried = Carried(name, tuple(inside), ((home, outside),))
            yield CarriedValues(carried, Capture(value, holder), uses)

    def _home(self, value: Any) -> Any:
        """The block that a value is made in."""
        owner = value.owner
        return owner if isinstance(owner, ir.Block) else owner.operation.block

    def _uses_inside(self, value: Any) -> Uses | None:
        """The operands that read a value in other blocks than its own; None where one stays."""
        found: set[tuple[Any, int]] = set()
        for use in value.uses:
            op = use.owner.operation
            while op.block not in self.number:
                op = op.parent.operation
            if op.block == self._home(value):
                continue
            if op not in self.planned[self.number[op.block]]:
                return None
            found.add((use.owner.operation, use.operand_number))
        return frozenset(found)

    def _holder(self, home: Any, inside: Sequence[int]) -> Any | None:
        """The first op of a block that holds other blocks; None where one is beside it."""
        holders = set()
        for place in inside:
            op = self.blocks[place].block.owner.operation
            while op.parent is not None and op.block != home:
                op = op.parent.operation
            if op.parent is None:
                return None
            holders.add(op)
        return next(op.operation for op in home.operations if op.operation in holders)

    def is_lost(self, place: Place, uses: Uses) -> bool:
        """Whether ops read a tensor that its graph does not know to be read."""
        number, tensor = place
        block = self.blocks[number]
        return tensor not in block.graph.outputs and _stays(block, tensor, uses)

    def _made(self, value: Any) -> Place | None:
        owner = value.owner
        place = self.number.get(owner if isinstance(owner, ir.Block) else owner.operation.block)
        tensor = None if place is None else self._tensors[place].get(value)
        if place is None or tensor is None or tensor not in self.blocks[place].graph.inputs:
            return None
        return place, tensor

    def _read(self, op: Any, number: int) -> Place | None:
        place = self.number.get(op.block)
        tensor = None if place is None else self._tensors[place].get(op.operands[number])
        if place is None or tensor is None:
            return None
        graph = self.blocks[place].graph
        return (place, tensor) if {tensor} & {*graph.outputs, *graph.constants} else None


def _links(op: Any, places: _Places) -> Iterator[Link]:
    """What an op of a block hands on, where its blocks have graphs."""
    blocks = [block for region in op.regions for block in region.blocks]
    name = places.name(blocks[0]) if blocks else ""
    if not name or len(blocks) != len(op.regions):
        return
    match op.name:
        case "scf.for":
            yield from _for(op, name)
        case "scf.while":
            yield from _while(op, name)
        case "scf.if" | "scf.index_switch" | "scf.execute_region":
            for i, result in enumerate(op.results):
                yield Link(f"{name} {i}", (result,), tuple((_last(b), i) for b in blocks))


def _for(op: Any, name: str) -> Iterator[Link]:
    block = op.regions[0].blocks[0]
    for i, result in enumerate(op.results):
        read = ((op, i + 3), (_last(block), i))
        yield Link(f"{name} {i}", (block.arguments[i + 1], result), read)


def _while(op: Any, name: str) -> Iterator[Link]:
    before, after = (region.blocks[0] for region in op.regions)
    for i, argument in enumerate(before.arguments):
        yield Link(f"{name} {i}", (argument,), ((op, i), (_last(after), i)))
    for i, result in enumerate(op.results):
        made = (after.arguments[i], result)
        yield Link(f"{name} result {i}", made, ((_last(before), i + 1),))


def _last(block: Any) -> Any:
    return list(block.operations)[-1].operation


def _of_branches(block: Lifted, places: _Places) -> Iterator[Link]:
    """The arguments of a block that ``cf`` branches lead to."""
    beside = list(block.block.region.blocks)
    if block.block == beside[0] or any(b not in places.number for b in beside):
        return
    arriving: list[tuple[Any, int]] = []
    for other in beside:
        op = _last(other)
        starts = branch_operands(op)
        if starts is None:
            return
        targets = zip(op.successors, starts, strict=True)
        arriving += [(op, start) for target, start in targets if target == block.block]
    name = block.name.replace(ASYNC, "")
    for i, argument in enumerate(block.block.arguments):
        yield Link(f"{name} {i}", (argument,), tuple((op, start + i) for op, start in arriving))


def _of_calls(called: CalledFunction) -> Iterator[Link]:
    """What a function and those that call it hand to each other."""
    if called.is_bound or not called.returns:
        return
    name = called.symbol.replace(ASYNC, "")
    for i, argument in enumerate(called.arguments):
        read = tuple((call, i) for call in called.calls)
        yield Link(f"{name} argument {i}", (argument,), read, called=called)
    for i in range(len(called.returns[0].operands)):
        made = tuple(call.results[i] for call in called.calls)
        read = tuple((op, i) for op in called.returns)
        yield Link(f"{name} result {i}", made, read, called=called)


def _of_state(state: StateGlobal) -> Link:
    loads = tuple(load.results[0] for load in state.loads)
    return Link(f"@{state.symbol}", loads, tuple((store, 0) for store in state.stores), state)


def _with_handed(
    block: Lifted, readers: Mapping[tuple[Any, int], str], captured: frozenset[int]
) -> Lifted:
    """The block with the outputs that are handed on and not read otherwise.

    ``readers``: by operand, the name of what is handed on there. ``captured``: what comes from
    outside; blocks inside of this one take it from there.
    """
    graph = block.graph
    outputs = tuple(t for t in graph.outputs if t not in captured)
    handed: dict[Any, set[str]] = {}
    for (op, number), name in readers.items():
        handed.setdefault(op.operands[number], set()).add(name)
    uses = frozenset(readers)
    only = {
        t: frozenset(handed[block.values[t]])
        for t in outputs
        if block.values.get(t) in handed and not _stays(block, t, uses)
    }
    return replace(block, graph=replace(graph, outputs=outputs, handed_only=only))


def _may_move(kind: Any) -> bool:
    """Whether a type is that of a tensor that may lie otherwise."""
    return isinstance(kind, ir.RankedTensorType) and kind.rank > 0


def _bare(size: int) -> int:
    """A size without what is known of the ranges of its symbols: one block may know more."""
    return with_symbols(size, lambda s: one_symbol(Symbol(s.name)))


def _stays(block: Lifted, tensor: int, uses: Uses) -> bool:
    """Whether ops that no plan writes anew read a tensor, beside ``uses``."""
    planned = {op.operation for op in block.planned}
    for use in block.values[tensor].uses:
        op = use.owner.operation
        if (op, use.operand_number) in uses:
            continue
        # the binding of IREE 3.13 gives up a reference too many for the block of a module
        while op.parent is not None and op.block != block.block:
            op = op.parent.operation
        if op not in planned:
            return True
    return False
