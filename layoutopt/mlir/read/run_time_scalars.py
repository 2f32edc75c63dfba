"""Scalars that are computed at run time, as tensors without dims.

    %s = tensor.extract %t[]; %z = arith.extsi %s; generic ins(%x) { .. %z .. }
      ->
    %z = generic ins(%t) { extsi }; generic ins(%x, %z) { .. }

A scalar that comes from outside is put into a tensor by ``tensor.from_elements``. What computes
scalars stays in the module only where an op that stays reads it.
"""

from __future__ import annotations

from typing import Any

from iree.compiler import ir

from layoutopt.ir.graph import Reshape, Structured, Uninitialized
from layoutopt.ir.scalar import Body, ScalarOp, scalar_constant, size_constant
from layoutopt.mlir.read.nested import nested_ops
from layoutopt.mlir.read.sizes import Sizes, materialized
from layoutopt.mlir.read.state import NotUnderstood, State, tensor_of, type_of

_EXTRACT = "tensor.extract"


def defer(state: State, op: Any) -> bool:
    """Leave an op that computes one scalar until it is read; whether it is such an op."""
    operation = op.operation
    if len(operation.results) != 1 or not is_number(operation.results[0].type):
        return False
    if operation.name == _EXTRACT:
        kind = type_of(state, operation.operands[0])
        known = kind is not None and all(n == 1 for n in kind.shape)
    else:
        numbers = all(is_number(v.type) for v in operation.operands)
        known = operation.name.startswith(("arith.", "math.")) and numbers
    if known:
        state.deferred[operation.results[0]] = op
        state.planned.append(op)
    return known


def is_number(kind: Any) -> bool:
    """Whether a scalar type can be the element type of a tensor: an index cannot."""
    return isinstance(kind, ir.IntegerType | ir.FloatType)


def scalar_tensor(state: State, value: Any, reader: Any) -> int:
    """The tensor without dims that holds a scalar which ``reader``, the op lifted now, reads."""
    if value in state.scalar_tensors:
        return state.scalar_tensors[value]
    if not is_number(value.type):
        raise NotUnderstood(f"expected numbers as scalars, but got {value.type}")
    op = state.deferred.get(value)
    if op is None:
        tensor = _from_outside(state, value, reader)
    elif op.operation.name == _EXTRACT:
        tensor = _extracted(state, op)
    else:
        tensor = _computed(state, op, reader)
    state.scalar_tensors[value] = tensor
    return tensor


def realize(state: State, reader: Any) -> None:
    """Keep the deferred ops that an op which stays reads, itself or inside its regions."""
    for operation in list(nested_ops(reader.operation)):
        for position in range(len(operation.operands)):
            _realize_operand(state, operation, position, reader)


def realize_elsewhere(state: State, block: Any) -> None:
    """Keep the deferred ops that other blocks read; tensors that those read are outputs."""
    *operations, terminator = list(block.operations)
    for op in operations:
        for value in op.operation.results:
            uses = [use for use in value.uses if not _stands_in(use.owner.operation, block)]
            for use in uses:
                _realize_operand(state, use.owner.operation, use.operand_number, terminator)
            if uses and any(
                value in known for known in (state.tensors, state.fills, state.empties)
            ):
                state.outputs[tensor_of(state, value)] = None


def _realize_operand(state: State, operation: Any, position: int, reader: Any) -> None:
    """Let an operand be there in front of ``reader``, unless it is a tensor of the graph."""
    value = operation.operands[position]
    if value in state.sizes.numbers:
        number = state.sizes.numbers[value]
        made = materialized(state.sizes, number, value.type, reader)
        state.sizes.numbers[made] = number
        operation.operands[position] = made
        return
    op = state.deferred.get(value)
    if op is None or op in state.kept:
        return
    realize(state, op)
    op.operation.move_before(reader.operation)
    state.keep(op)


def _stands_in(operation: Any, block: Any) -> bool:
    """Whether an op is one of a block, or inside one."""
    above = operation
    while above is not None and above.parent is not None:
        if above.block == block:
            return True
        above = above.parent.operation
    return False


def number_ops(sizes: Sizes, value: Any, first: int) -> list[ScalarOp]:
    """Ops of a body that make a known number, the last one its value; ``first``: their place."""
    number = sizes.numbers[value]
    if isinstance(number, bool):
        return [ScalarOp("arith.constant", (), "i1", (("value", str(number).lower()),))]
    found = [size_constant(sizes.resolved(number))]
    if str(value.type) != "index":
        found.append(ScalarOp("arith.index_cast", (first,), str(value.type)))
    return found


def _from_outside(state: State, value: Any, reader: Any) -> int:
    element = str(value.type)
    place = reader.operation.location
    if value in state.sizes.numbers:
        number = state.sizes.numbers[value]
        value = materialized(state.sizes, number, value.type, reader)
        state.sizes.numbers[value] = number
    made = ir.Operation.create(
        "tensor.from_elements",
        results=[ir.RankedTensorType.get([], value.type, loc=place)],
        operands=[value],
        loc=place,
        ip=ir.InsertionPoint(reader.operation),
    )
    state.kept.append(made)
    tensor = state.builder.tensor((), element)
    state.tensors[made.results[0]] = tensor
    state.values[tensor] = made.results[0]
    state.stages[tensor] = len(state.kept)
    state.inputs.append(tensor)
    return tensor


def _extracted(state: State, op: Any) -> int:
    source = tensor_of(state, op.operation.operands[0])
    kind = state.builder.types[source]
    if not kind.shape:
        return source
    made = state.builder.tensor((), kind.element)
    state.builder.add(Reshape(source, made))
    return made


def _computed(state: State, op: Any, reader: Any) -> int:
    """One op on scalars, over no loops."""
    operation = op.operation
    known = (state.scalars, state.sizes.numbers)
    read = [v for v in dict.fromkeys(operation.operands) if not any(v in table for table in known)]
    sources = tuple(scalar_tensor(state, v, reader) for v in read)
    element = str(operation.results[0].type)
    arguments = (*(str(v.type) for v in read), element)
    number = {v: i for i, v in enumerate(read)}
    ops: list[ScalarOp] = []
    for value in operation.operands:
        if value in state.scalars and value not in number:
            text, kind = state.scalars[value]
            number[value] = len(arguments) + len(ops)
            ops.append(scalar_constant(text, kind))
        elif value not in number:
            ops += number_ops(state.sizes, value, len(arguments) + len(ops))
            number[value] = len(arguments) + len(ops) - 1
    attributes = tuple(sorted((a, str(operation.attributes[a])) for a in operation.attributes))
    operands = tuple(number[v] for v in operation.operands)
    ops.append(ScalarOp(operation.name, operands, element, attributes))
    made = state.builder.tensor((), element)
    state.builder.add(
        Structured(
            sources,
            (Uninitialized(),),
            (made,),
            (),
            (),
            ((),) * len(arguments),
            Body(arguments, tuple(ops), (len(arguments) + len(ops) - 1,)),
        )
    )
    return made
