"""Lift linalg ops: indexing maps, iterators, inits and bodies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from layoutopt.affine import Affine, IndexMap, affine
from layoutopt.graph import Fill, FromTensor, Init, IteratorType, Structured, Uninitialized
from layoutopt.mlir.computed_index import computed_values
from layoutopt.mlir.gather import checked, extracted
from layoutopt.mlir.gather_rows import lift_gather
from layoutopt.mlir.repeated import add_repeated
from layoutopt.mlir.state import Blind, State, new_tensor, static_type, tensor_of, tensor_type
from layoutopt.scalar import Body, ScalarOp, pruned, without_argument


def lift_structured(state: State, op: Any) -> None:
    """Add a linalg op that has a region. Raises Blind where the graph cannot see through it."""
    if not op.operation.regions or not list(op.operation.regions[0].blocks):
        raise Blind("expected a structured op, but it has no region")
    results = list(op.operation.results)
    if not results:
        raise Blind("expected linalg on tensors, but it writes to memory")
    kinds = [static_type(r.type) for r in results]
    operands = list(op.operation.operands)
    sources, outs = operands[: len(operands) - len(results)], operands[-len(results) :]
    scalar_sources = [v for v in sources if tensor_type(v.type) is None]
    if scalar_sources:
        raise Blind("expected tensor operands, but one input is a scalar or has a dynamic shape")
    if lift_gather(state, op):
        return
    block = op.operation.regions[0].blocks[0]
    maps = _maps(op)
    rank = _rank(op)
    shapes = [static_type(v.type).shape for v in sources] + [k.shape for k in kinds]
    domain = _domain(maps, shapes, rank)
    splats = {
        argument: state.splats[value]
        for argument, value in zip(block.arguments, sources, strict=False)
        if value in state.splats
    }
    computed = computed_values(block, state.scalars, splats, domain)
    gathered = extracted(block, state.scalars, computed, rank)
    loops = (*domain, *(domain[d] // n for d, (n, _) in gathered.repeats.items()))
    reads = [(v, checked(m, v, loops)) for v, m in gathered.reads.values()]
    maps[len(sources) : len(sources)] = [m for _, m in reads]
    sources += [value for value, _ in reads]
    body = _body(state, block, len(results), list(gathered.reads))
    iterators = _iterators(op, maps, len(results), rank)
    inits = tuple(_init(state, v, body, len(sources) + i) for i, v in enumerate(outs))
    found = Structured(
        tuple(tensor_of(state, v) for v in sources),
        inits,
        tuple(new_tensor(state, r, k) for r, k in zip(results, kinds, strict=True)),
        domain,
        iterators,
        tuple(maps),
        body,
    )
    if reads:
        found = _without_unread(found)
    if gathered.repeats:
        add_repeated(state.builder, found, gathered.repeats)
    else:
        state.builder.add(found)


def _without_unread(op: Structured) -> Structured:
    """The op without inputs that only said where to read, as far as others have its loops."""
    for position in reversed(range(len(op.sources))):
        maps = (*op.maps[:position], *op.maps[position + 1 :])
        plain = {form.plain_dim for m in maps for form in m}
        if op.body.used(position) or not plain.issuperset(range(len(op.domain))):
            continue
        sources = (*op.sources[:position], *op.sources[position + 1 :])
        op = replace(op, sources=sources, maps=maps, body=without_argument(op.body, position))
    return op


def _rank(op: Any) -> int:
    return int(ir.AffineMapAttr(linalg.get_indexing_maps(op)[0]).value.n_dims)


def _maps(op: Any) -> list[IndexMap]:
    attributes = linalg.get_indexing_maps(op)
    if attributes is None:
        raise Blind("expected indexing maps, but the op has none")
    return [tuple(_form(e) for e in ir.AffineMapAttr(a).value.results) for a in attributes]


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
            raise Blind(f"expected a linear indexing map, but got '{expression}'")
        constant, other = (lhs, rhs) if not lhs.terms else (rhs, lhs)
        return affine(
            ((d, c * constant.offset) for d, c in other.terms), other.offset * constant.offset
        )
    raise Blind(f"expected a linear indexing map, but got '{expression}'")


def _iterators(op: Any, maps: list[IndexMap], results: int, rank: int) -> tuple[IteratorType, ...]:
    attributes = op.operation.attributes
    if "iterator_types" in attributes:
        texts = [str(a) for a in ir.ArrayAttr(attributes["iterator_types"])]
        kinds = []
        for text in texts:
            found = [k for k in IteratorType if k.value in text]
            if not found:
                raise Blind(f"expected parallel or reduction loops, but got {text}")
            kinds.append(found[0])
        return tuple(kinds)
    written = {d for m in maps[-results:] for form in m for d in form.dims}
    return tuple(
        IteratorType.PARALLEL if d in written else IteratorType.REDUCTION for d in range(rank)
    )


def _domain(maps: list[IndexMap], shapes: list[tuple[int, ...]], rank: int) -> tuple[int, ...]:
    sizes: dict[int, int] = {}
    for index_map, shape in zip(maps, shapes, strict=True):
        for form, n in zip(index_map, shape, strict=True):
            if form.plain_dim is not None:
                sizes[form.plain_dim] = n
    if len(sizes) != rank:
        raise Blind("expected every loop to be one dim of some operand, but one is not")
    return tuple(sizes[d] for d in range(rank))


def _init(state: State, value: Any, body: Body, argument: int) -> Init:
    if value in state.fills:
        return Fill(state.fills[value])
    if value in state.splats:
        return Fill(state.splats[value])
    if value in state.empties:
        return Uninitialized()
    if not body.used(argument):
        return Uninitialized()
    return FromTensor(tensor_of(state, value))


def _body(state: State, block: Any, results: int, gathered: list[Any]) -> Body:
    """The body with one more input for each element that it extracts from a tensor."""
    given = list(block.arguments)
    inputs = [*given[: len(given) - results], *gathered, *given[len(given) - results :]]
    arguments = tuple(str(a.type) for a in inputs)
    number = {a: i for i, a in enumerate(inputs)}
    ops: list[ScalarOp] = []

    def value_of(value: Any) -> int:
        if value not in number:
            if value not in state.scalars:
                raise Blind(
                    "expected a body of its own values, but it captures a tensor or a "
                    "computed scalar"
                )
            text, kind = state.scalars[value]
            ops.append(ScalarOp("arith.constant", (), kind, (("value", text),)))
            number[value] = len(arguments) + len(ops) - 1
        return number[value]

    operations = list(block.operations)
    for op in operations[:-1]:
        name = op.operation.name
        if name == "tensor.extract":
            continue
        if list(op.operation.regions) or len(op.operation.results) != 1:
            raise Blind(f"expected scalar ops in the body, but got {name}")
        attributes = _attributes(op)
        if name == "linalg.index":
            attributes = [("dim", str(ir.IntegerAttr(op.operation.attributes["dim"]).value))]
        operands = tuple(value_of(v) for v in op.operation.operands)
        ops.append(
            ScalarOp(name, operands, str(op.operation.results[0].type), tuple(sorted(attributes)))
        )
        number[op.operation.results[0]] = len(arguments) + len(ops) - 1
    yields = tuple(value_of(v) for v in operations[-1].operation.operands)
    return (
        pruned(Body(arguments, tuple(ops), yields))
        if gathered
        else Body(arguments, tuple(ops), yields)
    )


def _attributes(op: Any) -> list[tuple[str, str]]:
    found = op.operation.attributes
    return [(name, str(found[name])) for name in found]
