"""Lift a function of linalg on tensors into a graph.

What the graph can't see through stays an ``Opaque`` op with the reason. Weights are never read:
a constant is a tensor without a value.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import iree.compiler.ir as ir  # noqa: TID251 -- layoutopt.mlir is where MLIR comes in
from iree.compiler.dialects import linalg  # noqa: TID251

from layoutopt.affine import Affine, IndexMap, affine
from layoutopt.graph import (
    Concat, Constant, Fill, FromTensor, Graph, GraphBuilder, Init, Insert, IteratorType, Opaque,
    Pad, Reshape, Slice, Structured, Uninitialized,
)
from layoutopt.scalar import Body, ScalarOp, fill_body
from layoutopt.types import TensorType

_DYNAMIC = -(2**63)
_GLOBAL_LOADS = ("util.global.load", "ml_program.global_load_const", "ml_program.global_load")


@dataclass(frozen=True)
class Lifted:
    """A function's graph and where its tensors stand in the module.

    ``values[t]`` is the MLIR value of tensor t, for those that the module already holds.
    """

    name: str
    graph: Graph
    values: dict[int, Any]
    block: Any
    stages: dict[int, int]
    """For each tensor given from outside: how many kept ops must come before its uses."""
    kept: tuple[Any, ...]
    """Ops that stay where they are, in order; the last one is the terminator."""
    planned: tuple[Any, ...]
    """Ops that the plan writes anew, in order."""


@dataclass
class _State:
    builder: GraphBuilder = field(default_factory=GraphBuilder)
    tensors: dict[Any, int] = field(default_factory=dict)
    values: dict[int, Any] = field(default_factory=dict)
    scalars: dict[Any, tuple[str, str]] = field(default_factory=dict)
    empties: set[Any] = field(default_factory=set)
    fills: dict[Any, str] = field(default_factory=dict)
    splats: dict[Any, str] = field(default_factory=dict)
    outputs: dict[int, None] = field(default_factory=dict)
    inputs: list[int] = field(default_factory=list)
    kept: list[Any] = field(default_factory=list)
    planned: list[Any] = field(default_factory=list)
    stages: dict[int, int] = field(default_factory=dict)


class _Blind(Exception):
    """The graph cannot see through an op; the text says why."""


def lift(function: Any, immutable_globals: frozenset[str]) -> Lifted | None:
    """The graph of a function with one block, None for a declaration or several blocks."""
    regions = list(function.operation.regions)
    if len(regions) != 1 or len(list(regions[0].blocks)) != 1:
        return None
    block = regions[0].blocks[0]
    state = _State()
    for argument in block.arguments:
        kind = _tensor_type(argument.type)
        if kind is not None:
            _given(state, argument, kind)
    operations = list(block.operations)
    for op in operations[:-1]:
        _lift_op(state, op, immutable_globals)
    state.kept.append(operations[-1])
    _demand(state, operations[-1])
    name = ir.StringAttr(function.operation.attributes["sym_name"]).value
    graph = state.builder.build(state.inputs, state.outputs)
    return Lifted(name, graph, state.values, block, state.stages, tuple(state.kept),
                  tuple(state.planned))


def _lift_op(state: _State, op: Any, immutable_globals: frozenset[str]) -> None:
    name = op.operation.name
    if name == "arith.constant" or name in _GLOBAL_LOADS:
        if _constant(state, op, name, immutable_globals):
            return
    elif name == "tensor.empty" and _tensor_type(op.result.type) is not None:
        state.empties.add(op.result)
        state.planned.append(op)
        return
    try:
        _understood(state, op, name)
    except _Blind as blind:
        _opaque(state, op, name, str(blind))
    else:
        state.planned.append(op)


def _constant(state: _State, op: Any, name: str, immutable_globals: frozenset[str]) -> bool:
    value = op.operation.results[0]
    kind = _tensor_type(value.type)
    attributes = op.operation.attributes
    if name == "arith.constant":
        if kind is None:
            state.scalars[value] = (str(attributes["value"]), str(value.type))
            state.kept.append(op)
            return True
        splat = _splat(attributes["value"])
    else:
        symbol = ir.FlatSymbolRefAttr(attributes["global"]).value
        if kind is None or symbol not in immutable_globals:
            return False
        splat = None
    state.kept.append(op)
    tensor = _new(state, value, kind)
    state.stages[tensor] = len(state.kept)
    state.builder.add(Constant(tensor, splat))
    if splat is not None:
        state.splats[value] = splat
    return True


def _splat(attribute: Any) -> str | None:
    if not isinstance(attribute, ir.DenseElementsAttr) or not attribute.is_splat:
        return None
    return str(attribute.get_splat_value())


def _understood(state: _State, op: Any, name: str) -> None:
    if name == "linalg.fill":
        _fill(state, op)
    elif name in ("linalg.pack", "linalg.unpack", "linalg.softmax"):
        raise _Blind(f"expected a structured op, but {name} has no region")
    elif name.startswith("linalg."):
        _structured(state, op)
    elif name == "tensor.pad":
        _pad(state, op)
    elif name == "tensor.extract_slice":
        _slice(state, op)
    elif name == "tensor.insert_slice":
        _insert(state, op)
    elif name == "tensor.concat":
        kind = _static(op.result.type)
        axis = ir.IntegerAttr(op.operation.attributes["dim"]).value
        sources = tuple(_tensor(state, v) for v in op.operation.operands)
        state.builder.add(Concat(sources, _new(state, op.result, kind), axis))
    elif name in ("tensor.collapse_shape", "tensor.expand_shape"):
        kind = _static(op.result.type)
        source = _tensor(state, op.operation.operands[0])
        state.builder.add(Reshape(source, _new(state, op.result, kind)))
    else:
        raise _Blind("expected an op of linalg or tensor, but got one that is not known here")


def _fill(state: _State, op: Any) -> None:
    kind = _static(op.results[0].type)
    scalar = state.scalars.get(op.operation.operands[0])
    if scalar is None:
        raise _Blind("expected a fill with a constant, but the value is computed")
    if scalar[1] != kind.element:
        raise _Blind(f"expected a fill of type {kind.element}, but the value is {scalar[1]}")
    state.fills[op.results[0]] = scalar[0]


def _structured(state: _State, op: Any) -> None:
    if not op.operation.regions or not list(op.operation.regions[0].blocks):
        raise _Blind("expected a structured op, but it has no region")
    results = list(op.operation.results)
    if not results:
        raise _Blind("expected linalg on tensors, but it writes to memory")
    kinds = [_static(r.type) for r in results]
    operands = list(op.operation.operands)
    sources, outs = operands[: len(operands) - len(results)], operands[-len(results):]
    scalar_sources = [v for v in sources if _tensor_type(v.type) is None]
    if scalar_sources:
        raise _Blind("expected tensor operands, but one input is a scalar or has a dynamic shape")
    maps = _maps(op)
    body = _body(state, op.operation.regions[0].blocks[0])
    rank = _rank(op)
    iterators = _iterators(op, maps, len(results), rank)
    inits = tuple(_init(state, v, body, len(sources) + i) for i, v in enumerate(outs))
    read = tuple(_tensor(state, v) for v in sources)
    shapes = [state.builder.types[t].shape for t in read] + [k.shape for k in kinds]
    domain = _domain(maps, shapes, rank)
    state.builder.add(Structured(
        read, inits, tuple(_new(state, r, k) for r, k in zip(results, kinds, strict=True)),
        domain, iterators, tuple(maps), body,
    ))


def _rank(op: Any) -> int:
    return int(ir.AffineMapAttr(linalg.get_indexing_maps(op)[0]).value.n_dims)


def _maps(op: Any) -> list[IndexMap]:
    attributes = linalg.get_indexing_maps(op)
    if attributes is None:
        raise _Blind("expected indexing maps, but the op has none")
    return [
        tuple(_form(e) for e in ir.AffineMapAttr(a).value.results) for a in attributes
    ]


def _form(expression: Any) -> Affine:
    if isinstance(expression, ir.AffineDimExpr):
        return affine([(expression.position, 1)])
    if isinstance(expression, ir.AffineConstantExpr):
        return affine([], expression.value)
    if isinstance(expression, ir.AffineAddExpr):
        lhs, rhs = _form(expression.lhs), _form(expression.rhs)
        return affine((*lhs.terms, *rhs.terms), lhs.offset + rhs.offset)
    if isinstance(expression, ir.AffineMulExpr):
        lhs, rhs = _form(expression.lhs), _form(expression.rhs)
        if lhs.terms and rhs.terms:
            raise _Blind(f"expected a linear indexing map, but got '{expression}'")
        constant, other = (lhs, rhs) if not lhs.terms else (rhs, lhs)
        return affine(((d, c * constant.offset) for d, c in other.terms),
                      other.offset * constant.offset)
    raise _Blind(f"expected a linear indexing map, but got '{expression}'")


def _iterators(
    op: Any, maps: list[IndexMap], results: int, rank: int
) -> tuple[IteratorType, ...]:
    attributes = op.operation.attributes
    if "iterator_types" in attributes:
        texts = [str(a) for a in ir.ArrayAttr(attributes["iterator_types"])]
        kinds = []
        for text in texts:
            found = [k for k in IteratorType if k.value in text]
            if not found:
                raise _Blind(f"expected parallel or reduction loops, but got {text}")
            kinds.append(found[0])
        return tuple(kinds)
    written = {d for m in maps[-results:] for form in m for d in form.dims}
    return tuple(
        IteratorType.PARALLEL if d in written else IteratorType.REDUCTION for d in range(rank)
    )


def _domain(
    maps: list[IndexMap], shapes: list[tuple[int, ...]], rank: int
) -> tuple[int, ...]:
    sizes: dict[int, int] = {}
    for index_map, shape in zip(maps, shapes, strict=True):
        for form, n in zip(index_map, shape, strict=True):
            if form.plain_dim is not None:
                sizes[form.plain_dim] = n
    if len(sizes) != rank:
        raise _Blind("expected every loop to be one dim of some operand, but one is not")
    return tuple(sizes[d] for d in range(rank))


def _init(state: _State, value: Any, body: Body, argument: int) -> Init:
    if value in state.fills:
        return Fill(state.fills[value])
    if value in state.splats:
        return Fill(state.splats[value])
    if value in state.empties:
        return Uninitialized()
    if not body.used(argument):
        return Uninitialized()
    return FromTensor(_tensor(state, value))


def _body(state: _State, block: Any) -> Body:
    arguments = tuple(str(a.type) for a in block.arguments)
    number = {a: i for i, a in enumerate(block.arguments)}
    ops: list[ScalarOp] = []

    def value_of(value: Any) -> int:
        if value not in number:
            if value not in state.scalars:
                raise _Blind("expected a body of its own values, but it captures a tensor or a "
                             "computed scalar")
            text, kind = state.scalars[value]
            ops.append(ScalarOp("arith.constant", (), kind, (("value", text),)))
            number[value] = len(arguments) + len(ops) - 1
        return number[value]

    operations = list(block.operations)
    for op in operations[:-1]:
        name = op.operation.name
        if list(op.operation.regions) or len(op.operation.results) != 1:
            raise _Blind(f"expected scalar ops in the body, but got {name}")
        attributes = [(a.name, str(a.attr)) for a in _named(op)]
        if name == "linalg.index":
            attributes = [("dim", str(ir.IntegerAttr(op.operation.attributes["dim"]).value))]
        operands = tuple(value_of(v) for v in op.operation.operands)
        ops.append(ScalarOp(name, operands, str(op.operation.results[0].type),
                            tuple(sorted(attributes))))
        number[op.operation.results[0]] = len(arguments) + len(ops) - 1
    yields = tuple(value_of(v) for v in operations[-1].operation.operands)
    return Body(arguments, tuple(ops), yields)


@dataclass(frozen=True, slots=True)
class _Attribute:
    name: str
    attr: Any


def _named(op: Any) -> list[_Attribute]:
    attributes = op.operation.attributes
    return [_Attribute(name, attributes[name]) for name in attributes]


def _pad(state: _State, op: Any) -> None:
    kind = _static(op.result.type)
    if len(op.operation.operands) != 1:
        raise _Blind("expected static padding, but it is computed")
    block = op.operation.regions[0].blocks[0]
    yielded = list(block.operations)[-1].operation.operands[0]
    text = state.scalars.get(yielded)
    if text is None and len(list(block.operations)) == 2:
        inner = list(block.operations)[0]
        if inner.operation.name == "arith.constant":
            text = (str(inner.operation.attributes["value"]), kind.element)
    if text is None:
        raise _Blind("expected a constant padding value, but it is computed")
    attributes = op.operation.attributes
    low = _integers(attributes["static_low"])
    high = _integers(attributes["static_high"])
    source = _tensor(state, op.operation.operands[0])
    state.builder.add(Pad(source, _new(state, op.result, kind), low, high, text[0]))


def _slice(state: _State, op: Any) -> None:
    kind = _static(op.result.type)
    if len(op.operation.operands) != 1:
        raise _Blind("expected a static slice, but offsets or sizes are computed")
    offsets, sizes, strides = _ranges(op)
    source = _tensor(state, op.operation.operands[0])
    if sizes == kind.shape:
        state.builder.add(Slice(source, _new(state, op.result, kind), offsets, strides))
        return
    whole = state.builder.tensor(sizes, kind.element)
    state.builder.add(Slice(source, whole, offsets, strides))
    state.builder.add(Reshape(whole, _new(state, op.result, kind)))


def _insert(state: _State, op: Any) -> None:
    kind = _static(op.result.type)
    if len(op.operation.operands) != 2:
        raise _Blind("expected a static insert, but offsets or sizes are computed")
    offsets, sizes, strides = _ranges(op)
    source = _tensor(state, op.operation.operands[0])
    destination = _tensor(state, op.operation.operands[1])
    if state.builder.types[source].shape != sizes:
        whole = state.builder.tensor(sizes, kind.element)
        state.builder.add(Reshape(source, whole))
        source = whole
    state.builder.add(
        Insert(source, destination, _new(state, op.result, kind), offsets, strides)
    )


def _ranges(op: Any) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    attributes = op.operation.attributes
    found = tuple(
        _integers(attributes[n]) for n in ("static_offsets", "static_sizes", "static_strides")
    )
    if any(_DYNAMIC in values for values in found):
        raise _Blind("expected a static slice, but offsets or sizes are computed")
    return found[0], found[1], found[2]


def _integers(attribute: Any) -> tuple[int, ...]:
    return tuple(int(x) for x in ir.DenseI64ArrayAttr(attribute))


def _opaque(state: _State, op: Any, name: str, reason: str) -> None:
    state.kept.append(op)
    read = _demand(state, op)
    results = []
    for value in op.operation.results:
        kind = _tensor_type(value.type)
        if kind is not None:
            tensor = _new(state, value, kind)
            state.stages[tensor] = len(state.kept)
            state.inputs.append(tensor)
            results.append(tensor)
    state.builder.add(Opaque(name, read, tuple(results), reason))


def _demand(state: _State, op: Any) -> tuple[int, ...]:
    """Tensors that an op which stays reads, itself or inside its regions."""
    found: dict[int, None] = {}

    def visit(operation: Any) -> None:
        for value in operation.operands:
            if value in state.tensors or value in state.fills or value in state.empties:
                found[_tensor(state, value)] = None
        for region in operation.regions:
            for block in region.blocks:
                for inner in block.operations:
                    visit(inner.operation)

    visit(op.operation)
    state.outputs.update(found)
    return tuple(found)


def _given(state: _State, value: Any, kind: TensorType) -> None:
    tensor = _new(state, value, kind)
    state.stages[tensor] = 0
    state.inputs.append(tensor)


def _new(state: _State, value: Any, kind: TensorType) -> int:
    tensor = state.builder.tensor(kind.shape, kind.element)
    state.tensors[value] = tensor
    state.values[tensor] = value
    return tensor


def _tensor(state: _State, value: Any) -> int:
    if value in state.tensors:
        return state.tensors[value]
    kind = _static(value.type)
    if value in state.fills:
        text = state.fills[value]
        tensor = _new(state, value, kind)
        rank = len(kind.shape)
        state.builder.add(Structured(
            (), (Uninitialized(),), (tensor,), kind.shape, (IteratorType.PARALLEL,) * rank,
            (tuple(affine([(d, 1)]) for d in range(rank)),), fill_body(text, kind.element),
        ))
        return tensor
    if value in state.empties:
        tensor = _new(state, value, kind)
        state.stages[tensor] = 0
        state.builder.add(Constant(tensor))
        return tensor
    raise _Blind("expected tensors of static shape, but one operand is not")


def _tensor_type(kind: Any) -> TensorType | None:
    if not isinstance(kind, ir.RankedTensorType):
        return None
    if not kind.has_static_shape or kind.encoding is not None:
        return None
    return TensorType(tuple(kind.shape), str(kind.element_type))


def _static(kind: Any) -> TensorType:
    found = _tensor_type(kind)
    if found is None:
        raise _Blind(f"expected tensors of static shape, but got {kind}")
    return found
