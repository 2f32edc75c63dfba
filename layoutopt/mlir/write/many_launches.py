"""Functions that launch their dispatches many times in one submission.

In the HAL phase of IREE kernels are compiled, and each submission is a command buffer that is
recorded once, mostly by a function of its own ahead of all calls. A copy of a function whose
commands are recorded in a loop is one submission still: what calling, submitting and waiting cost
comes once for all launches. A barrier stands behind each of them, and all write their results to
the same memory. So late, the compiler has next to nothing to do for such a copy.

Launches that read the same constants find them in a cache from the second one on, where a model
brings them from memory. So constants can have copies, which are made when the module is loaded and
which launches read in turn.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import arith, cf

SUFFIX = "_many"
"""What the name of such a function ends with."""

_FUNCTION, _GLOBAL, _INITIALIZER = "util.func", "util.global", "util.initializer"
_LOAD, _STORE, _CALL = "util.global.load", "util.global.store", "util.call"
_CREATE, _FINALIZE = "hal.command_buffer.create", "hal.command_buffer.finalize"
_DISPATCH = "hal.command_buffer.dispatch"
_COMMANDS, _BUFFER = "!hal.command_buffer", "!hal.buffer"
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
    """A module of the HAL phase with one more function, named with ``SUFFIX``, for each wanted.

    ``wanted`` are symbol names. A function without commands gets a plain copy. ValueError where the
    text is not a module.
    """
    with ir.Context(), ir.Location.unknown():
        try:
            module = ir.Module.parse(text)
        except ir.MLIRError as error:
            raise ValueError(str(error)) from error
        copies = _Copies(launches)
        for name, function in _functions(module).items():
            if name in wanted:
                made = _copied(module, function)
                copies.ahead_of = made[0]
                for copy in made:
                    _repeat_commands(copy, copies)
        return str(module)


def _functions(module: Any) -> dict[str, Any]:
    """The functions of a module by name."""
    functions = [op.operation for op in module.body.operations if op.operation.name == _FUNCTION]
    return {_symbol(op, "sym_name"): op for op in functions}


def _symbol(op: Any, attribute: str) -> str:
    """A symbol that an op defines or refers to, as it is called."""
    found = op.attributes[attribute]
    kind = ir.StringAttr if attribute == "sym_name" else ir.FlatSymbolRefAttr
    return str(kind(found).value)


def _inside(op: Any, name: str = "") -> Iterator[Any]:
    """The ops of that name inside of another one, at any depth; all where there is no name."""
    for region in op.regions:
        for block in region.blocks:
            for inner in block.operations:
                if name in ("", inner.operation.name):
                    yield inner.operation
                yield from _inside(inner.operation, name)


def _copied(module: Any, function: Any) -> list[Any]:
    """A copy of a function, with what records its command buffers when the module is loaded.

    All of these stand at the end of the module, in the order in which they have to be.
    """
    globals_read = {
        _symbol(load, "global")
        for load in _inside(function, _LOAD)
        if str(load.results[0].type) == _COMMANDS
    }
    recorders: set[str] = set()
    functions = _functions(module)
    wanted: list[Any] = []
    for op in [op.operation for op in module.body.operations]:
        if op.name == _GLOBAL and _symbol(op, "sym_name") in globals_read:
            wanted.append(op)
        if op.name == _INITIALIZER:
            stored = {_symbol(store, "global") for store in _inside(op, _STORE)}
            if stored & globals_read:
                wanted.append(op)
                recorders |= {_symbol(call, "callee") for call in _inside(op, _CALL)}
    wanted = [*(functions[name] for name in sorted(recorders)), *wanted, function]
    renamed = {_symbol(op, "sym_name") for op in wanted if op.name != _INITIALIZER}
    return [_renamed(op.clone(ip=ir.InsertionPoint(module.body)), renamed) for op in wanted]


def _renamed(op: Any, symbols: Collection[str]) -> Any:
    """An op that defines and refers to copies in place of some symbols."""
    if "sym_name" in op.attributes:
        op.attributes["sym_name"] = ir.StringAttr.get(_symbol(op, "sym_name") + SUFFIX)
    for inner in _inside(op):
        for attribute in ("global", "callee"):
            if attribute in inner.attributes and _symbol(inner, attribute) in symbols:
                name = _symbol(inner, attribute) + SUFFIX
                inner.attributes[attribute] = ir.FlatSymbolRefAttr.get(name)
    return op


def _repeat_commands(op: Any, copies: _Copies) -> None:
    """Record what each command buffer holds in a loop, once for each launch."""
    turns = copies.read_by(op)
    for create in list(_inside(op, _CREATE)):
        (finalize,) = (user for user in _users(create.results[0]) if user.name == _FINALIZE)
        ahead = create.block
        loop = _split(ahead, create, ir.IndexType.get())
        last = loop if finalize.block == ahead else finalize.block
        behind = _split(last, finalize, before=True)
        with ir.InsertionPoint(ahead):
            first, step, end = (_index(n) for n in (0, 1, copies.launches.count))
            cf.BranchOp([first], loop)
        (launch,) = loop.arguments
        with ir.InsertionPoint(last):
            following = arith.AddIOp(launch, step).result
            more = arith.CmpIOp(arith.CmpIPredicate.ult, following, end).result
            cf.CondBranchOp(more, [following], [], loop, behind)
        for turn in turns:
            if turn.dispatch.operands[0] == create.results[0]:
                turn.take(launch)


def _split(block: Any, op: Any, *arguments: Any, before: bool = False) -> Any:
    """A new block with what stands behind an op, or with that op as well."""
    made = block.create_after(*arguments, arg_locs=[ir.Location.unknown()] * len(arguments))
    operations = list(block.operations)
    place = next(i for i, other in enumerate(operations) if other.operation == op)
    for moved in operations[place if before else place + 1 :]:
        made.append(moved)
    return made


def _users(value: Any) -> Iterator[Any]:
    """The ops that read a value."""
    return (use.owner.operation for use in value.uses)


@dataclass(frozen=True)
class _Turn:
    """A dispatch that reads a constant, whose copies stand one behind another."""

    dispatch: Any
    offset: int
    """Its operand that says from where on."""
    stride: int
    count: int

    def take(self, launch: Any) -> None:
        """Let a launch read its own copy."""
        operands = self.dispatch.operands
        with ir.InsertionPoint(self.dispatch):
            turn = arith.RemUIOp(launch, _index(self.count)).result
            shift = arith.MulIOp(turn, _index(self.stride)).result
            operands[self.offset] = arith.AddIOp(operands[self.offset], shift).result


@dataclass
class _Copies:
    """Globals that hold copies of constants."""

    launches: Launches
    made: set[str] = field(default_factory=set)
    """Of which ones there are copies."""
    ahead_of: Any = None
    """The op of the module before which copies that are missing are made."""

    def read_by(self, function: Any) -> list[_Turn]:
        """What reads copies of constants in a function from now on."""
        found: list[_Turn] = []
        for load in list(_inside(function, _LOAD)):
            size = _size_read(load)
            count = self.launches.copies(size)
            if count == 1 or "is_immutable" not in load.attributes:
                continue
            reads = [(use.owner.operation, use.operand_number) for use in load.results[0].uses]
            device = reads[0][0].operands[0].owner.operands[0].owner
            if isinstance(device, ir.Block) or device.name != _LOAD:
                continue
            symbol, stride = _symbol(load, "global"), -(-size // _ALIGNMENT) * _ALIGNMENT
            if symbol not in self.made:
                self.made.add(symbol)
                self._add(_copies_text(symbol, _symbol(device, "global"), size, stride, count))
            found += [_Turn(user, _offset(user, buffer), stride, count) for user, buffer in reads]
            load.attributes["global"] = ir.FlatSymbolRefAttr.get(symbol + _COPIES)
        return found

    def _add(self, text: str) -> None:
        """Put all but the first two ops of a text, which the module has, where copies are made."""
        parsed = ir.Module.parse(text)  # as long as it lives, so do its ops
        for op in list(parsed.body.operations)[2:]:
            op.operation.clone(ip=ir.InsertionPoint(self.ahead_of))


def _buffers(dispatch: Any) -> range:
    """Places of the buffers among a dispatch's operands."""
    *before, buffers, _offsets, _lengths = _segments(dispatch)
    return range(sum(before), sum(before) + buffers)


def _offset(dispatch: Any, buffer: int) -> int:
    """Place of the offset that belongs to a buffer."""
    return buffer + len(_buffers(dispatch))


def _segments(dispatch: Any) -> list[int]:
    """How many operands of each kind there are; the last ones: buffers, offsets and lengths."""
    return list(ir.DenseI32ArrayAttr(dispatch.attributes["operandSegmentSizes"]))


def _size_read(load: Any) -> int:
    """Bytes of a constant up to the last one that is read; 0 where not all is read by dispatches.

    And where it is not known ahead how many are.
    """
    ends = [0]
    for use in load.results[0].uses:
        if use.owner.name != _DISPATCH:
            return 0
        offset = _offset(use.owner, use.operand_number)
        length = offset + len(_buffers(use.owner))
        numbers = [_number(use.owner.operands[place]) for place in (offset, length)]
        if None in numbers:
            return 0
        ends.append(sum(number or 0 for number in numbers))
    return max(ends)


def _copies_text(symbol: str, device: str, size: int, stride: int, count: int) -> str:
    """The globals of a device and a constant, one with copies of it, and what makes these."""
    numbers = {"zero": 0, "one": 1, "count": count, "size": size, "stride": stride}
    numbers["all"] = stride * count
    usage = "Transfer|DispatchStorage|SharingImmutable"
    stages = 'source("Transfer|CommandRetire") target("CommandIssue|Transfer")'
    return f"""
util.global private @{device} : !hal.device
util.global private @{symbol} : {_BUFFER}
util.global private @{symbol}{_COPIES} : {_BUFFER}
util.initializer {{
  {" ".join(f"%{name} = arith.constant {n} : index" for name, n in numbers.items())}
  %forever = arith.constant -1 : i32
  %any = arith.constant -1 : i64
  %pool = arith.constant 0 : i64
  %none = util.null : !hal.fence
  %type = hal.memory_type<"DeviceVisible|DeviceLocal"> : i32
  %usage = hal.buffer_usage<"{usage}"> : i32
  %device = util.global.load immutable @{device} : !hal.device
  %from = util.global.load immutable @{symbol} : {_BUFFER}
  %there = hal.fence.create device(%device : !hal.device) flags("None") : !hal.fence
  %to = hal.device.queue.alloca<%device : !hal.device> affinity(%any) wait(%none) signal(%there)
      pool(%pool) type(%type) usage(%usage) flags("None") : {_BUFFER}{{%all}}
  %commands = hal.command_buffer.create device(%device : !hal.device) mode(OneShot)
      categories(Transfer) affinity(%any) : {_COMMANDS}
  cf.br ^next(%zero : index)
^next(%turn: index):
  %at = arith.muli %turn, %stride : index
  hal.command_buffer.copy_buffer<%commands : {_COMMANDS}> source(%from : {_BUFFER})[%zero]
      target(%to : {_BUFFER})[%at] length(%size) flags("None")
  hal.command_buffer.execution_barrier<%commands : {_COMMANDS}> {stages} flags("None")
  %following = arith.addi %turn, %one : index
  %more = arith.cmpi ult, %following, %count : index
  cf.cond_br %more, ^next(%following : index), ^done
^done:
  hal.command_buffer.finalize<%commands : {_COMMANDS}>
  %made = hal.fence.create device(%device : !hal.device) flags("None") : !hal.fence
  hal.device.queue.execute<%device : !hal.device> affinity(%any) wait(%there) signal(%made)
      commands(%commands) flags("None")
  %status = hal.fence.await until([%made]) timeout_millis(%forever) flags("None") : i32
  util.status.check_ok %status, "failed to copy constants"
  util.global.store %to, @{symbol}{_COPIES} : {_BUFFER}
  util.return
}}
"""


def _index(number: int) -> Any:
    """A constant of type index."""
    return arith.ConstantOp(ir.IndexType.get(), number).result


def _number(value: Any) -> int | None:
    """Of a constant of type index; None of what is known at run time only."""
    owner = value.owner
    if not isinstance(owner, ir.Block) and owner.name == "arith.constant":
        return int(ir.IntegerAttr(owner.attributes["value"]).value)
    return None
