"""Lift linalg ops: indexing maps, iterators, inits and bodies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from iree.compiler import ir
from iree.compiler.dialects import linalg

from layoutopt.ir.affine import Affine, IndexMap, affine
from layoutopt.ir.graph import Fill, FromTensor, Init, IteratorType, Structured, Uninitialized
from layoutopt.ir.named import means_mmt4d
from layoutopt.ir.scalar import Body, ScalarOp, pruned, scalar_constant, without_argument
from layoutopt.mlir.read.computed_index import computed_values
from layoutopt.mlir.read.extract import checked, extracted
from layoutopt.mlir.read.gather import lift_gather
from layoutopt.mlir.read.repeated import add_repeated
from layoutopt.mlir.read.run_time_scalars import is_number, number_ops, scalar_tensor
from layoutopt.mlir.read.sizes import Sizes
from layoutopt.mlir.read.state import (
    NotUnderstood,
    State,
    new_tensor,
    static_type,
    tensor_of,
    type_of,
)


def lift_structured(state: State, op: Any) -> None:
    """Add a linalg op that has a region. Raises NotUnderstood where its meaning is not known."""
    if not op.operation.regions or not list(op.operation.regions[0].blocks):
        raise NotUnderstood("expected a structured op, but it has no region")
    results = list(op.operation.results)
    kinds = [static_type(state, r) for r in results]
    operands = list(op.operation.operands)
    sources, outs = operands[: len(operands) - len(results)], operands[-len(results) :]
    for value in sources:
        if type_of(state, value) is None and not is_number(value.type):
            raise NotUnderstood(
                f"expected numbers and tensors of known sizes, but got {value.type}"
            )
    if lift_gather(state, op):
        return
    block = op.operation.regions[0].blocks[0]
    maps = _maps(op)
    rank = _rank(op)
    shapes = [_shape(state, v) for v in sources] + [k.shape for k in kinds]
    domain = _domain(state, maps, shapes, rank)
    splats = {
        argument: state.splats[value]
        for argument, value in zip(block.arguments, sources, strict=False)
        if value in state.splats
    }
    computed = computed_values(block, state.scalars, splats, domain)
    gathered = extracted(block, state.scalars, computed, rank)
    loops = (*domain, *(domain[d] // n for d, (n, _) in gathered.repeats.items()))
    inputs = list(zip(block.arguments, sources, maps, strict=False))
    known = {a: state.scalars[v] for a, v, _ in inputs if v in state.scalars}
    inputs = [(a, v, m) for a, v, m in inputs if a not in known]
    inputs += [
        (a, v, checked(m, static_type(state, v).shape, loops))
        for a, (v, m) in gathered.reads.items()
    ]
    inputs += [(v, v, ()) for v in _captured(state, block)]
    starts = list(block.arguments)[len(sources) :]
    body = _body(state, block, [*(a for a, _, _ in inputs), *starts], known, bool(gathered.reads))
    maps = [*(m for _, _, m in inputs), *maps[len(sources) :]]
    iterators = _iterators(op, maps, len(results), rank)
    _check_written(iterators, maps[-len(results) :], domain)
    inits = tuple(_init(state, v, body, len(inputs) + i) for i, v in enumerate(outs))
    found = Structured(
        tuple(_read(state, v, op) for _, v, _ in inputs),
        inits,
        tuple(new_tensor(state, r, k) for r, k in zip(results, kinds, strict=True)),
        domain,
        iterators,
        tuple(maps),
        body,
    )
    if op.operation.name == "linalg.generic" and means_mmt4d(found):
        found = replace(found, generalized=True)  # as mmt4d it needs a microkernel of its tile
    if gathered.reads:
        found = _without_dead_results(found)
    if gathered.repeats:
        add_repeated(state.builder, found, gathered.repeats)
    else:
        state.builder.add(found)


def _without_dead_results(op: Structured) -> Structured:
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
        raise NotUnderstood("expected indexing maps, but the op has none")
    return [index_map(ir.AffineMapAttr(a).value) for a in attributes]


def index_map(attribute: Any) -> IndexMap:
    """An affine map of MLIR. Raises NotUnderstood where it is not linear."""
    return tuple(_form(e) for e in attribute.results)


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
            raise NotUnderstood(f"expected a linear indexing map, but got '{expression}'")
        constant, other = (lhs, rhs) if not lhs.terms else (rhs, lhs)
        return affine(
            ((d, c * constant.offset) for d, c in other.terms), other.offset * constant.offset
        )
    raise NotUnderstood(f"expected a linear indexing map, but got '{expression}'")


def _iterators(op: Any, maps: list[IndexMap], results: int, rank: int) -> tuple[IteratorType, ...]:
    attributes = op.operation.attributes
    if "iterator_types" in attributes:
        texts = [str(a) for a in ir.ArrayAttr(attributes["iterator_types"])]
        kinds = []
        for text in texts:
            found = [k for k in IteratorType if k.value in text]
            if not found:
                raise NotUnderstood(f"expected parallel or reduction loops, but got {text}")
            kinds.append(found[0])
        return tuple(kinds)
    written = {d for m in maps[-results:] for form in m for d in form.dims}
    return tuple(
        IteratorType.PARALLEL if d in written else IteratorType.REDUCTION for d in range(rank)
    )


def _check_written(
    iterators: tuple[IteratorType, ...], results: list[IndexMap], domain: tuple[int, ...]
) -> None:
    """Each parallel loop has to move along every result, and a reduction along none.

    Raises NotUnderstood: what else is written to one place depends on the order of the loops.
    """
    for result in results:
        written = {d for form in result for d in form.dims}
        for d, kind in enumerate(iterators):
            if domain[d] != 1 and (kind is IteratorType.PARALLEL) != (d in written):
                word = "is not" if kind is IteratorType.PARALLEL else "is"
                raise NotUnderstood(
                    "expected results along all parallel loops and no other, but the "
                    f"{kind.value} loop d{d} {word} one of theirs"
                )


def _domain(
    state: State, maps: list[IndexMap], shapes: list[tuple[int, ...]], rank: int
) -> tuple[int, ...]:
    found = _loops(state.sizes, maps, shapes)
    if len(found) != rank:
        raise NotUnderstood("expected every loop to be one dim of some operand, but one is not")
    return tuple(found[d] for d in range(rank))


def _loops(
    sizes: Sizes, maps: Sequence[IndexMap], shapes: Sequence[Sequence[int]]
) -> dict[int, int]:
    """The sizes of loops that are one dim of some operand each: all dims along one are one size."""
    found: dict[int, int] = {}
    for read_by, shape in zip(maps, shapes, strict=True):
        for form, n in zip(read_by, shape, strict=True):
            if form.plain_dim is not None:
                known = found.get(form.plain_dim, n)
                found[form.plain_dim] = n if known == n else sizes.unify(known, n)
    return found


def learn_loops(sizes: Sizes, op: Any) -> None:
    """Learn that dims along one loop of a linalg op are one size.

    Raises NotUnderstood where its maps are not linear.
    """
    if linalg.get_indexing_maps(op) is None:
        return
    maps: list[IndexMap] = []
    shapes: list[tuple[int, ...]] = []
    for value, read_by in zip(op.operation.operands, _maps(op), strict=True):
        shape = sizes.shape_of(value) if isinstance(value.type, ir.RankedTensorType) else None
        if shape is not None:
            maps.append(read_by)
            shapes.append(shape)
    _loops(sizes, maps, shapes)


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


def _shape(state: State, value: Any) -> tuple[int, ...]:
    return () if is_number(value.type) else static_type(state, value).shape


def _read(state: State, value: Any, op: Any) -> int:
    """The tensor of an input, which may be a scalar."""
    return scalar_tensor(state, value, op) if is_number(value.type) else tensor_of(state, value)


def _captured(state: State, block: Any) -> list[Any]:
    """Scalars from outside of a body that it reads and that are computed, in order of first use."""
    own = {*block.arguments, *(r for op in block.operations for r in op.operation.results)}
    found: dict[Any, None] = {}
    for op in block.operations:
        for value in op.operation.operands:
            known = value in own or value in state.scalars or value in state.sizes.numbers
            if not known and is_number(value.type):
                found[value] = None
    return list(found)


def _body(
    state: State, block: Any, inputs: list[Any], known: dict[Any, tuple[str, str]], prune: bool
) -> Body:
    """The body as a function of ``inputs``, its results last; ``known`` arguments are constants.

    ``prune``: leave out what is not read.
    """
    arguments = tuple(str(a.type) for a in inputs)
    number = {a: i for i, a in enumerate(inputs)}
    ops: list[ScalarOp] = []

    def value_of(value: Any) -> int:
        if value not in number and value in state.sizes.numbers:
            ops.extend(number_ops(state.sizes, value, len(arguments) + len(ops)))
            number[value] = len(arguments) + len(ops) - 1
        if value not in number:
            if value not in known and value not in state.scalars:
                raise NotUnderstood(
                    f"expected a body of numbers, but it captures a value of {value.type}"
                )
            text, kind = known[value] if value in known else state.scalars[value]
            ops.append(scalar_constant(text, kind))
            number[value] = len(arguments) + len(ops) - 1
        return number[value]

    operations = list(block.operations)
    for op in operations[:-1]:
        name = op.operation.name
        if name == "tensor.extract":
            continue
        if list(op.operation.regions) or len(op.operation.results) != 1:
            raise NotUnderstood(f"expected scalar ops in the body, but got {name}")
        attributes = _attributes(op)
        if any(text.startswith("@") for _, text in attributes):
            raise NotUnderstood(f"expected a body that stands alone, but {name} names a symbol")
        if name == "linalg.index":
            attributes = [("dim", str(ir.IntegerAttr(op.operation.attributes["dim"]).value))]
        operands = tuple(value_of(v) for v in op.operation.operands)
        ops.append(
            ScalarOp(name, operands, str(op.operation.results[0].type), tuple(sorted(attributes)))
        )
        number[op.operation.results[0]] = len(arguments) + len(ops) - 1
    yields = tuple(value_of(v) for v in operations[-1].operation.operands)
    body = Body(arguments, tuple(ops), yields)
    return pruned(body) if prune else body


def _attributes(op: Any) -> list[tuple[str, str]]:
    found = op.operation.attributes
    return [(name, str(found[name])) for name in found]
