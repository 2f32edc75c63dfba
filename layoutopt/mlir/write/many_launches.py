"""Functions that launch their dispatches many times in one submission.

In the stream phase of IREE a function hands its commands over in ``stream.cmd.execute`` ops, each
of which becomes one command buffer with a barrier behind every dispatch. A copy of the function
whose commands stand there ``launches`` times is one submission still: what calling, submitting and
waiting cost comes once for all of them. Commands write their results to the same memory each time.

Launches that read the same constants find them in a cache from the second one on, where a model
brings them from memory. So constants can have copies, which are made when the module is loaded and
which launches read in turn.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from iree.compiler import ir

SUFFIX = "_many"
"""What the name of such a function ends with."""

_FUNCTION = "util.func"
_SUBMISSION = "stream.cmd.execute"
_DISPATCH = "stream.cmd.dispatch"
_LOAD = "util.global.load"
_CONSTANT = "!stream.resource<constant>"
_COPIES = "_copies"
_ALIGNMENT = 256
"""Bytes: no device asks for more of where a buffer begins."""


@dataclass(frozen=True, slots=True)
class Launches:
    """How often dispatches are launched, and what each launch reads.

    ``cycle_bytes``: as many copies of a constant as are larger than this together, or one for each
    launch where that is less; 0 for none.
    """

    count: int
    cycle_bytes: int = 0

    def copies(self, size: int) -> int:
        """Of a constant of so many bytes."""
        if not self.cycle_bytes or not size:
            return 1
        return min(self.count, self.cycle_bytes // size + 1)


def with_many_launches(text: str, launches: Launches, wanted: Collection[str]) -> str:
    """A module of the stream phase with one more function, named with ``SUFFIX``, for each wanted.

    ``wanted`` are symbol names. A function without commands gets a plain copy. ValueError where the
    text is not a module.
    """
    with ir.Context() as context, ir.Location.unknown():
        context.allow_unregistered_dialects = True
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            raise ValueError(str(error)) from error
        copies = _Copies(module, launches)
        for op in list(module.body.operations):
            if op.operation.name != _FUNCTION:
                continue
            name = ir.StringAttr(op.operation.attributes["sym_name"]).value
            if name in wanted:
                copy = op.operation.clone(ip=ir.InsertionPoint(module.body))
                copy.attributes["sym_name"] = ir.StringAttr.get(name + SUFFIX)
                _repeat_commands(copy, copies)
        return str(module)


def _repeat_commands(op: Any, copies: _Copies) -> None:
    """Write the commands of each submission inside an op once for each launch."""
    for region in op.regions:
        for block in region.blocks:
            if op.name == _SUBMISSION:
                *commands, _end = list(block.operations)
                turns = copies.read_by(op)
                for launch in range(copies.launches.count):
                    last = launch == copies.launches.count - 1
                    for command in commands:
                        one = command.operation
                        # what is left at the end is the last launch: it stands where it stood
                        if not last:
                            one = one.clone(ip=ir.InsertionPoint(commands[0]))
                        _take_turn(one, turns, launch)
                continue
            for inner in list(block.operations):
                _repeat_commands(inner.operation, copies)


@dataclass(frozen=True)
class _Turns:
    """A constant that one submission reads, in copies that stand one behind another."""

    submission: Any
    stride: int
    count: int
    whole: Any
    """The size of all of them, as a value."""

    def offset(self, before: Any, launch: int) -> Any:
        """Where a launch reads what it would read at an offset of the constant."""
        shift = launch % self.count * self.stride
        at = ir.InsertionPoint(self.submission)
        if (known := _number(before)) is not None:
            return _index(known + shift, at)
        operands = [before, _index(shift, at)]
        return ir.Operation.create("arith.addi", [before.type], operands, ip=at).result


def _take_turn(command: Any, turns: dict[int, _Turns], launch: int) -> None:
    """Let a command read the copies of one launch: ``turns`` goes by place in the submission."""
    for region in command.regions:
        for block in region.blocks:
            for inner in block.operations:
                _take_turn(inner.operation, turns, launch)
    if command.name != _DISPATCH:
        return
    first, count = _resources(command)
    for place in range(first, first + count):
        turn = turns.get(ir.BlockArgument(command.operands[place]).arg_number)
        if turn is not None:
            size, offset = place + count, place + 2 * count
            command.operands[offset] = turn.offset(command.operands[offset], launch)
            command.operands[size] = turn.whole


def _resources(command: Any) -> tuple[int, int]:
    """Place of the first resource among a dispatch's operands, and how many there are.

    Behind them stand their sizes, then offsets, then lengths.
    """
    workload, uniform, count, *_ = ir.DenseI32ArrayAttr(command.attributes["operandSegmentSizes"])
    return workload + uniform, count


@dataclass
class _Copies:
    """Globals of a module that hold copies of constants; ``made``: of which ones, by symbol."""

    module: Any
    launches: Launches
    made: set[str] = field(default_factory=set)

    def read_by(self, submission: Any) -> dict[int, _Turns]:
        """What a submission reads copies of, by place among its resources; it is given them."""
        found: dict[int, _Turns] = {}
        resources, *_ = ir.DenseI32ArrayAttr(submission.attributes["operandSegmentSizes"])
        for place in range(resources):
            value = submission.operands[place]
            size = _number(submission.operands[resources + place])
            if size is None or str(value.type) != _CONSTANT or value.owner.name != _LOAD:
                continue
            count = self.launches.copies(size)
            if count == 1 or not _is_for_dispatches(submission.regions[0].blocks[0], place):
                continue
            symbol = str(value.owner.attributes["global"])
            stride = -(-size // _ALIGNMENT) * _ALIGNMENT
            if symbol not in self.made:
                self.made.add(symbol)
                self._add(_text(symbol, submission, size, stride, count))
            at = ir.InsertionPoint(submission)
            # like the constant's own load: what may change would have to be bound to each call
            load = value.owner.clone(ip=at)
            load.attributes["global"] = ir.FlatSymbolRefAttr.get(f"{symbol[1:]}{_COPIES}")
            copies = load.result
            whole = _index(stride * count, at)
            submission.operands[place] = copies
            submission.operands[resources + place] = whole
            found[place] = _Turns(submission, stride, count, whole)
        return found

    def _add(self, text: str) -> None:
        """Put all but the first op of a text before the last op of the module.

        That is the function that reads them: its commands are recorded behind what stands there.
        """
        parsed = ir.Module.parse(text)
        *_, function = self.module.body.operations
        for op in list(parsed.body.operations)[1:]:
            op.operation.clone(ip=ir.InsertionPoint(function))


def _is_for_dispatches(block: Any, place: int) -> bool:
    """Whether nothing but dispatches reads a resource of a submission."""
    return all(use.owner.name == _DISPATCH for use in block.arguments[place].uses)


def _text(symbol: str, submission: Any, size: int, stride: int, count: int) -> str:
    """A global, another one with copies of it, and the initializer that makes them."""
    known = submission.attributes
    place = f" on({known['affinity']})" if "affinity" in known else ""
    numbers = sorted({0, size, stride * count, *(stride * i for i in range(count))})
    lines = [
        f"util.global private {symbol} : {_CONSTANT}",
        f"util.global private {symbol}{_COPIES} : {_CONSTANT}",
        "util.initializer {",
        *(f"  %n{number} = arith.constant {number} : index" for number in numbers),
        f"  %one = util.global.load {symbol} : {_CONSTANT}",
        f"  %new, %there = stream.resource.alloca uninitialized{place} :",
        f"      {_CONSTANT}{{%n{stride * count}}} => !stream.timepoint",
        f"  %done = stream.cmd.execute once{place} await(%there) => with(",
        f"      %one as %from: {_CONSTANT}{{%n{size}}},",
        f"      %new as %to: {_CONSTANT}{{%n{stride * count}}}) {{",
        *(
            f"    stream.cmd.copy %from[%n0], %to[%n{stride * i}], %n{size} :"
            f" {_CONSTANT}{{%n{size}}} -> {_CONSTANT}{{%n{stride * count}}}"
            for i in range(count)
        ),
        "  } => !stream.timepoint",
        f"  %made = stream.timepoint.await sync %done => %new : {_CONSTANT}{{%n{stride * count}}}",
        f"  util.global.store %made, {symbol}{_COPIES} : {_CONSTANT}",
        "  util.return",
        "}",
        "",
    ]
    return "\n".join(lines)


def _index(number: int, at: Any) -> Any:
    """A constant of type index."""
    kind = ir.IndexType.get()
    value = {"value": ir.IntegerAttr.get(kind, number)}
    return ir.Operation.create("arith.constant", [kind], [], value, ip=at).result


def _number(value: Any) -> int | None:
    """Of a constant of type index; None of what is known at run time only."""
    owner = value.owner
    if not isinstance(owner, ir.Block) and owner.name == "arith.constant":
        return int(ir.IntegerAttr(owner.attributes["value"]).value)
    return None
