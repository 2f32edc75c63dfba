"""Lift one op of linalg on tensors into a graph.

What the graph can't see through stays an ``Opaque`` op with the reason. Weights are never read:
a constant is a tensor without a value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any

from iree.compiler import ir

from layoutopt.ir.affine import identity_map
from layoutopt.ir.extension import Occurrence
from layoutopt.ir.graph import (
    Concat,
    Constant,
    Extension,
    Insert,
    IteratorType,
    Opaque,
    Pad,
    Reshape,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import copy_body
from layoutopt.ir.size import Undecided, bounds, symbol
from layoutopt.ir.types import TensorType
from layoutopt.mlir.read.affine_quantization import DEQUANTIZE, QUANTIZE, lift_affine_quantization
from layoutopt.mlir.read.assertions import drop_assertions
from layoutopt.mlir.read.attribute import value_of
from layoutopt.mlir.read.index_arithmetic import read_number, undecided
from layoutopt.mlir.read.packs import POISON, lift_pack, lift_poison, lift_unpack
from layoutopt.mlir.read.run_time_scalars import defer, realize, scalar_tensor
from layoutopt.mlir.read.shapes import is_shape, learn_shapes, ranges, segments, stated_shape
from layoutopt.mlir.read.sizes import Sizes, assumed
from layoutopt.mlir.read.slices import lift_insert, lift_slice
from layoutopt.mlir.read.state import (
    NotUnderstood,
    PlaceNotLinear,
    State,
    add_symbols,
    known_type,
    new_tensor,
    planned_for,
    static_type,
    tensor_of,
    type_by_now,
)
from layoutopt.mlir.read.structured import lift_structured

_BUFFER_DIM = "hal.buffer_view.dim"
CALLS = ("func.call", "util.call")
_CONSTANTS = ("arith.constant", "complex.constant", "flow.tensor.constant")
_GLOBAL_LOADS = ("util.global.load", "ml_program.global_load_const", "ml_program.global_load")


def lift_op(state: State, op: Any, constants: Mapping[str, Any]) -> None:
    """Add an op of a block to its graph. ``constants``: the globals, see `constant_globals`."""
    name = op.operation.name
    if name in _CONSTANTS or name in _GLOBAL_LOADS:
        if _constant(state, op, name, constants):
            return
    elif read_number(state.sizes, op, state.scalars):
        state.planned.append(op)
        return
    elif _open_number(state, op):
        return
    elif is_shape(state.sizes, op.operation, state.scalars):
        state.planned.append(op)
        return
    learn_shapes(state.sizes, op, state.scalars)
    if name.startswith("linalg."):
        drop_assertions(op)
    if name == "tensor.empty" and known_type(state, op.result) is not None:
        state.empties[op.result] = len(state.kept)
        state.planned.append(op)
        return
    if defer(state, op) or (name == POISON and lift_poison(state, op)):
        return
    try:
        _understood(state, op, name)
    except (NotUnderstood, Undecided) as error:
        _opaque(state, op, name, str(error))
    else:
        state.planned.append(op)


def _constant(state: State, op: Any, name: str, constants: Mapping[str, Any]) -> bool:
    value = op.operation.results[0]
    kind = known_type(state, value)
    attributes = op.operation.attributes
    if name in _CONSTANTS:
        if kind is None and name == "flow.tensor.constant":
            return False
        if kind is None:
            state.scalars[value] = (str(attributes["value"]), str(value.type))
            state.kept.append(op)
            return True
        splat = _splat(value_of(attributes, "value"))
    else:
        symbol = ir.FlatSymbolRefAttr(attributes["global"]).value
        if kind is None or symbol not in constants:
            return False
        splat = _splat(constants[symbol])
    state.kept.append(op)
    tensor = new_tensor(state, value, kind)
    state.stages[tensor] = len(state.kept)
    state.builder.add(Constant(tensor, splat))
    if splat is not None:
        state.splats[value] = splat
    return True


def _splat(attribute: Any) -> str | None:
    if not isinstance(attribute, ir.DenseElementsAttr) or not attribute.is_splat:
        return None
    return str(attribute.get_splat_value())


def _understood(state: State, op: Any, name: str) -> None:
    linalg = name.startswith("linalg.")
    if linalg and not op.operation.results:
        raise NotUnderstood("expected linalg on tensors, but it writes to memory")
    extension = state.extensions.get(name)
    if name in _KINDS:
        _KINDS[name](state, op)
    elif extension is not None and not extension.is_fallback:
        _extension(state, op, extension)
    elif linalg:
        _structured(state, op, extension)
    else:
        raise NotUnderstood(_unknown(state, op, name))


def _concat(state: State, op: Any) -> None:
    kind = static_type(state, op.result)
    axis = ir.IntegerAttr(op.operation.attributes["dim"]).value
    sources = tuple(tensor_of(state, v) for v in op.operation.operands)
    state.builder.add(Concat(sources, new_tensor(state, op.result, kind), axis))


def _same_numbers(state: State, op: Any) -> None:
    """A reshape whose types say it all, or a change of the type's spelling."""
    kind = static_type(state, op.result)
    source = tensor_of(state, op.operation.operands[0])
    state.builder.add(Reshape(source, new_tensor(state, op.result, kind)))


def _reshape(state: State, op: Any) -> None:
    """A reshape to a shape that ops before it list."""
    if stated_shape(state.sizes, op.operation, state.scalars) is None:
        raise NotUnderstood("expected a shape of known sizes, but it is computed otherwise")
    kind = static_type(state, op.result)
    source = tensor_of(state, op.operation.operands[0])
    before = type_by_now(state, source)
    if math.prod(before.shape) != math.prod(kind.shape):
        raise NotUnderstood(f"expected as many elements, but got {before} and {kind}")
    state.builder.add(Reshape(source, new_tensor(state, op.result, kind)))


def _unknown(state: State, op: Any, name: str) -> str:
    """Why an op of a kind that the graph does not hold stays."""
    if name == "tensor.empty":
        static_type(state, op.result)  # raises NotUnderstood: any other is not an op of its own
    if name == "tensor.dim":
        return "expected a dim of a tensor of known sizes, but they are not known"
    if name in CALLS:
        return "expected ops in place, but got a call: the function called is planned alone"
    if name.startswith("scf."):
        return "expected straight-line code, but got control flow: its blocks are planned alone"
    return "expected an op of linalg or tensor, but got one that is not known here"


def _fill(state: State, op: Any) -> None:
    kind = static_type(state, op.results[0])
    value = op.operation.operands[0]
    if str(value.type) != kind.element:
        raise NotUnderstood(
            f"expected a fill of type {kind.element}, but the value is {value.type}"
        )
    if value in state.scalars:
        state.fills[op.results[0]] = state.scalars[value][0]
        return
    _spread(state, scalar_tensor(state, value, op), new_tensor(state, op.results[0], kind), kind)


def _spread(state: State, scalar: int, result: int, kind: TensorType) -> None:
    """Fill a tensor with a number that is known at run time only."""
    rank = len(kind.shape)
    state.builder.add(
        Structured(
            (scalar,),
            (Uninitialized(),),
            (result,),
            kind.shape,
            (IteratorType.PARALLEL,) * rank,
            ((), identity_map(rank)),
            copy_body(kind.element),
        )
    )


def _pad(state: State, op: Any) -> None:
    kind = static_type(state, op.result)
    block = op.operation.regions[0].blocks[0]
    yielded = list(block.operations)[-1].operation.operands[0]
    text = state.scalars.get(yielded)
    if text is None and len(list(block.operations)) == 2:
        inner = next(iter(block.operations))
        if inner.operation.name in ("arith.constant", "complex.constant"):
            text = (str(inner.operation.attributes["value"]), kind.element)
    inside = [*block.arguments, *(v for o in block.operations for v in o.operation.results)]
    if text is None and yielded in inside:
        raise NotUnderstood("expected one padding value, but it is computed for each element")
    _, low_given, high_given = segments(op.operation)
    low = ranges(state.sizes, op.operation, "static_low", low_given, state.scalars)
    high = ranges(state.sizes, op.operation, "static_high", high_given, state.scalars)
    if low is None or high is None:
        raise NotUnderstood("expected padding of known sizes, but it is computed")
    if any(bounds(n)[0] < 0 for n in (*low, *high)):
        raise NotUnderstood(f"expected padding that adds elements, but got low {low} high {high}")
    source = tensor_of(state, op.operation.operands[0])
    whole = type_by_now(state, source).shape
    if any(a + n + b != m for a, n, b, m in zip(low, whole, high, kind.shape, strict=True)):
        raise NotUnderstood(f"expected padding that makes {kind}, but got low {low} high {high}")
    if text is not None:
        state.builder.add(Pad(source, new_tensor(state, op.result, kind), low, high, text[0]))
        return
    border = state.builder.tensor(kind.shape, kind.element)
    _spread(state, scalar_tensor(state, yielded, op), border, kind)
    into = new_tensor(state, op.result, kind)
    state.builder.add(Insert(source, border, into, low, (1,) * len(low)))


def _structured(state: State, op: Any, fallback: type[Extension] | None) -> None:
    """A linalg op; ``fallback`` reads those whose places are not linear."""
    try:
        lift_structured(state, op)
    except PlaceNotLinear as error:
        if fallback is None:
            raise
        try:
            _extension(state, op, fallback)
        except NotUnderstood:
            raise error from None


def _extension(state: State, op: Any, kind: type[Extension]) -> None:
    operands, values = kind.operands(op.operation), list(op.operation.results)
    made = [static_type(state, v) for v in values]
    sources = [tensor_of(state, v) for v in operands]
    types = [*(type_by_now(state, t) for t in sources), *made]
    count = len(sources)
    places = tuple(range(len(types)))
    found = kind.read(Occurrence(op.operation, places[:count], places[count:], types))
    if isinstance(found, Refusal):
        raise NotUnderstood(found.reason)
    _learn_sizes(state.sizes, found, types)
    results = [new_tensor(state, v, t) for v, t in zip(values, made, strict=True)]
    numbers = (*sources, *results)
    state.builder.add(found.renamed(numbers.__getitem__, numbers.__getitem__))


def _learn_sizes(sizes: Sizes, op: Extension, types: Sequence[TensorType]) -> None:
    """The dims along one loop have one size."""
    along: dict[Hashable, int] = {}
    for tensor, loops in op.loops(types).items():
        for loop, n in zip(loops, types[tensor].shape, strict=True):
            known = n if loop is None else along.setdefault(loop, n)
            if known != n:
                along[loop] = sizes.unify(known, n)


def _open_number(state: State, op: Any) -> bool:
    """Keep an op that computes a number of sizes, as a symbol of its own; whether it is one."""
    found = undecided(state.sizes, op, state.scalars)
    if found is None:
        return False
    low, high, planned = found
    realize(state, op)
    state.kept.append(op)
    make = partial(symbol, low=low, high=high, planned=planned)
    value = op.operation.results[0]
    if str(value.type) != "index":
        with ir.InsertionPoint.after(op.operation), op.operation.location:
            value = ir.Operation.create(
                "arith.index_cast", results=[ir.IndexType.get()], operands=[value]
            ).results[0]
    number = state.sizes.name(f"n{len(state.sizes.values)}", make, value, len(state.kept))
    state.sizes.numbers[op.operation.results[0]] = number
    return True


def _buffer_dim(state: State, op: Any) -> None:
    """A size of a buffer that the caller gives."""
    buffer, result = op.operation.operands[0], op.operation.results[0]
    given = isinstance(buffer.owner, ir.Block)
    axis = ir.IntegerAttr(op.operation.attributes["index"]).value
    name = f"arg{ir.BlockArgument(buffer).arg_number}.{axis}" if given else f"buffer.{axis}"
    make = partial(symbol, planned=planned_for(axis))
    state.sizes.numbers[result] = state.sizes.name(name, make, result, len(state.kept))


def _opaque(state: State, op: Any, name: str, reason: str) -> None:
    realize(state, op)
    read = state.keep(op)
    results = []
    if name == "util.assume.int":
        assumed(state.sizes, op, len(state.kept), state.scalars)
    elif name == _BUFFER_DIM:
        _buffer_dim(state, op)
    for value in op.operation.results:
        add_symbols(state, value, f"{state.prefix}t{len(state.builder.types)}")
        kind = known_type(state, value)
        if kind is not None:
            tensor = new_tensor(state, value, kind)
            state.stages[tensor] = len(state.kept)
            state.inputs.append(tensor)
            results.append(tensor)
    state.builder.add(Opaque(name, read, tuple(results), reason))


_KINDS: dict[str, Callable[[State, Any], None]] = {
    "linalg.fill": _fill,
    "linalg.pack": lift_pack,
    "linalg.unpack": lift_unpack,
    QUANTIZE: lift_affine_quantization,
    DEQUANTIZE: lift_affine_quantization,
    "tensor.pad": _pad,
    "tensor.extract_slice": lift_slice,
    "tensor.insert_slice": lift_insert,
    "tensor.concat": _concat,
    "tensor.collapse_shape": _same_numbers,
    "tensor.expand_shape": _same_numbers,
    "tensor.cast": _same_numbers,
    "flow.tensor.tie_shape": _same_numbers,
    "tensor.reshape": _reshape,
}
"""How each op is read whose name tells its kind, beside extensions and linalg's other ops."""
