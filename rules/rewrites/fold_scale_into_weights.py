"""A factor of a contraction's result as a factor of its weights.

    (contraction(x, w) + b) * s        ->   contraction(x, w * s) + b * s
    contraction(q, k) * s              ->   contraction(q * s, k)             and so on from there

``s``: one number, or constants along dims of the weights. One number passes reshapes, transposes,
slices and the addition of constants on its way to weights. Scaled queries of attention, a batch
norm behind a convolution, the scale of an adapter. Sound because products distribute over sums, up
to rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from layoutopt.ir.affine import IndexMap, identity_map, plain_dims, plain_map
from layoutopt.ir.graph import (
    Fill,
    Graph,
    GraphBuilder,
    IteratorType,
    Reshape,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.scalar import (
    Body,
    ScalarOp,
    contraction_body,
    is_exact_contraction,
    scalar_constant,
)
from layoutopt.ir.types import is_float
from layoutopt.rules.rewrites.examples import counted
from layoutopt.rules.rewrites.interior_padding import is_zero, typed
from layoutopt.rules.rule import Evidence, Exactness, Example, Expression

_P, _R = IteratorType.PARALLEL, IteratorType.REDUCTION
_FURTHEST = 5
"""Ops between the factor and the weights at most."""


@dataclass(frozen=True, slots=True)
class Scale:
    """One number as MLIR text, or a constant tensor."""

    number: str | None
    tensor: int = -1
    dims: tuple[int, ...] = ()
    """Of each dim of the tensor the dim of what is scaled; none where it is one number."""


@dataclass(frozen=True, slots=True)
class Step:
    """An op that is as good as scaled where one operand is."""

    op: Structured | Reshape | Slice
    position: int
    """Of that operand, among its inputs."""
    added: int | None = None
    """The position of a constant that is added, and scaled too."""


@dataclass(frozen=True, slots=True)
class Scaled:
    """A product with a constant, and the ops that lead from there back to weights."""

    op: Structured
    scale: Scale
    steps: tuple[Step, ...]
    """The one that reads the weights first."""
    constant: bool
    """Whether the weights are."""


def _times(number: str, element: str) -> tuple[ScalarOp, ...]:
    return (scalar_constant(number, element), ScalarOp("arith.mulf", (0, 2), element))


def _example(*, constant: bool) -> Graph:
    """Rows of tensor 0 times weights, plus a bias, transposed, times a half."""
    builder = GraphBuilder()
    x = builder.tensor((3, 4), "f32")
    w, b = builder.tensor((4, 5), "f32"), builder.tensor((5,), "f32")
    c, sums = builder.tensor((3, 5), "f32"), builder.tensor((3, 5), "f32")
    turned, y = builder.tensor((5, 3), "f32"), builder.tensor((5, 3), "f32")
    for weights, shape in ((w, (4, 5)), (b, (5,)))[not constant :]:
        builder.add(counted(weights, shape))
    builder.add(
        Structured(
            (x, w), (Fill("0.0 : f32"),), (c,), (3, 5, 4), (_P, _P, _R),
            (plain_map((0, 2)), plain_map((2, 1)), plain_map((0, 1))),
            contraction_body("f32", "f32", "f32"),
        )
    )  # fmt: skip
    add = Body(("f32",) * 3, (ScalarOp("arith.addf", (0, 1), "f32"),), (3,))
    maps: tuple[IndexMap, ...] = (identity_map(2), plain_map((1,)), identity_map(2))
    builder.add(Structured((c, b), (Uninitialized(),), (sums,), (3, 5), (_P, _P), maps, add))
    maps = (plain_map((1, 0)), identity_map(2))
    copied = Body(("f32", "f32"), (), (0,))
    builder.add(Structured((sums,), (Uninitialized(),), (turned,), (5, 3), (_P, _P), maps, copied))
    half = Body(("f32", "f32"), _times("5.000000e-01 : f32", "f32"), (3,))
    maps = (identity_map(2),) * 2
    builder.add(Structured((turned,), (Uninitialized(),), (y,), (5, 3), (_P, _P), maps, half))
    return builder.build((x,) if constant else (x, w), (y,))


class FoldScaleIntoWeights:
    """Weights that have the factor in them."""

    name = "fold-scale-into-weights"
    summary = "(contraction(x, w) + b) * s -> contraction(x, w * s) + b * s"
    argument = "products distribute over sums; what only moves elements commutes with one number"
    evidence = Evidence.ARGUMENT
    exactness = Exactness.APPROXIMATES
    canonicalizes = False
    examples = (
        Example(_example(constant=True), 5),
        Example(
            _example(constant=False),
            4,
            refusal="expected weights that are constants, but got some that are computed",
        ),
    )

    def match(self, graph: Graph, op: int) -> Scaled | None:
        """A multiplication by constants behind a contraction."""
        found = graph.ops[op]
        if not isinstance(found, Structured) or found.results[0] in graph.constants:
            return None
        scaling = _scaling(graph, found)
        if scaling is None:
            return None
        source, scale = scaling
        steps = _steps(graph, source, scale.dims, _FURTHEST)
        if steps is None:
            return None
        weights = steps[0].op.inputs[steps[0].position]
        return Scaled(found, scale, steps, weights in graph.constants)

    def guard(self, match: Scaled) -> Refusal | None:
        """Weights that are scaled ahead of time."""
        if not match.constant:
            return Refusal("expected weights that are constants, but got some that are computed")
        return None

    def rewrite(self, graph: Graph, match: Scaled) -> Expression:
        """The same ops again, from scaled weights on."""
        builder = GraphBuilder(len(graph.types))
        root, scale = match.steps[0], match.scale
        assert isinstance(root.op, Structured)  # by the match
        dims = _weight_dims(root.op, root.position, scale.dims)
        assert dims is not None  # by the match
        scaled = _times_scale(graph, builder, root.op.inputs[root.position], scale, dims)
        for step in match.steps:
            operands = [*step.op.inputs]
            operands[step.position] = scaled
            if step.added is not None:
                assert isinstance(step.op, Structured)
                read = plain_dims(step.op.source_maps[step.added])
                assert read is not None  # by the match
                operands[step.added] = _times_scale(
                    graph, builder, operands[step.added], scale, _among(scale.dims, read)
                )
            if step is match.steps[-1]:
                scaled = match.op.results[0]
            else:
                kind = graph.types[step.op.outputs[0]]
                scaled = builder.tensor(kind.shape, kind.element)
            if isinstance(step.op, Structured):
                builder.add(replace(step.op, sources=tuple(operands), results=(scaled,)))
            else:
                builder.add(replace(step.op, source=operands[0], result=scaled))
        return Expression(tuple(builder.types), tuple(builder.ops))


def _scaling(graph: Graph, op: Structured) -> tuple[int, Scale] | None:
    """What an op multiplies by constants, and by which; None where it does something else."""
    body, rank = op.body, len(op.domain)
    if not op.is_elementwise or len(op.results) != 1 or not is_float(body.arguments[-1]):
        return None
    if op.result_maps[0] != identity_map(rank) or len({*body.arguments}) > 1:
        return None
    product = body.op_of(body.yields[0])
    if product is None or product.name != "arith.mulf" or len(op.sources) > 2:
        return None
    for position in range(len(op.sources)):
        if position not in product.operands or op.source_maps[position] != identity_map(rank):
            continue
        other = next((o for o in product.operands if o != position), position)
        number = body.op_of(other)
        if number is not None and number.name == "arith.constant" and len(body.ops) == 2:
            return op.sources[position], Scale(number.attribute("value"))
        if len(body.ops) > 1 or other >= len(op.sources) or other == position:
            continue
        tensor = op.sources[other]
        if tensor in graph.splats:
            return op.sources[position], Scale(typed(graph.splats[tensor], body.arguments[-1]))
        read = plain_dims(op.source_maps[other])
        if tensor in graph.constants and read is not None and len(read) < rank:
            return op.sources[position], Scale(None, tensor, read)
    return None


def _steps(
    graph: Graph, tensor: int, dims: tuple[int, ...], furthest: int
) -> tuple[Step, ...] | None:
    """The ops from weights to a tensor; from computed ones where there are no constant ones."""
    makers = graph.producers[tensor] if furthest and tensor not in graph.constants else ()
    for maker in makers:
        op = graph.ops[maker]
        if isinstance(op, Reshape | Slice) and not dims:
            before = _steps(graph, op.source, dims, furthest - 1)
            return None if before is None else (*before, Step(op, 0))
        if not isinstance(op, Structured):
            continue
        if op.is_contraction:
            return _through_contraction(graph, op, dims, furthest)
        step = _moved_or_added(graph, op, dims)
        if step is not None:
            before = _steps(graph, op.sources[step.position], dims, furthest - 1)
            return None if before is None else (*before, step)
    return None


def _through_contraction(
    graph: Graph, op: Structured, dims: tuple[int, ...], furthest: int
) -> tuple[Step, ...] | None:
    """The steps that end in a contraction: of weights of its own, or of what it reads."""
    (init,) = op.inits
    element = graph.types[op.results[0]].element
    starts = isinstance(init, Fill) and is_zero(init.value, element)
    if not starts or not is_exact_contraction(op.body) or element != op.body.arguments[0]:
        return None
    if op.body.arguments[1] != element or plain_dims(op.result_maps[0]) is None:
        return None
    takes = [p for p in (1, 0) if _weight_dims(op, p, dims) is not None]
    for position in takes:
        if op.sources[position] in graph.constants:
            return (Step(op, position),)
    for position in takes if not dims else ():
        before = _steps(graph, op.sources[position], dims, furthest - 1)
        if before is not None and before[0].op.inputs[before[0].position] in graph.constants:
            return (*before, Step(op, position))
    return (Step(op, takes[0]),) if takes else None


def _moved_or_added(graph: Graph, op: Structured, dims: tuple[int, ...]) -> Step | None:
    """An op that transposes, or adds a constant."""
    if len(op.results) != 1 or not op.is_elementwise or len({*op.body.arguments}) > 1:
        return None
    if op.is_copy:
        read, written = (plain_dims(m) for m in op.maps)
        whole = read is not None and written is not None and sorted(read) == sorted(written)
        return Step(op, 0) if whole and not dims else None
    identity = identity_map(len(op.domain))
    if len(op.body.ops) != 1 or op.body.ops[0].name != "arith.addf" or len(op.sources) != 2:
        return None
    if sorted(op.body.ops[0].operands) != [0, 1] or op.result_maps[0] != identity:
        return None
    for position, added in ((0, 1), (1, 0)):
        read = plain_dims(op.source_maps[added])
        if (
            op.source_maps[position] == identity
            and op.sources[added] in graph.constants
            and read is not None
            and set(dims) <= set(read)
        ):
            return Step(op, position, added)
    return None


def _weight_dims(op: Structured, position: int, dims: tuple[int, ...]) -> tuple[int, ...] | None:
    """Which dims of a factor run along these dims of a contraction's result; None where not all."""
    forms = [form.plain_dim for form in op.source_maps[position]]
    loops = [op.result_maps[0][d].plain_dim for d in dims]
    if any(loop not in forms or loop is None for loop in loops):
        return None
    return tuple(forms.index(loop) for loop in loops)


def _among(dims: tuple[int, ...], read: tuple[int, ...]) -> tuple[int, ...]:
    """The places of some dims in a map."""
    return tuple(map(read.index, dims))


def _times_scale(
    graph: Graph, builder: GraphBuilder, tensor: int, scale: Scale, dims: tuple[int, ...]
) -> int:
    """A constant times the factor, which lies along these dims of it."""
    kind = graph.types[tensor]
    result = builder.tensor(kind.shape, kind.element)
    rank = len(kind.shape)
    sources, maps = [tensor], [identity_map(rank)]
    if scale.number is None:
        sources.append(scale.tensor)
        maps.append(plain_map(dims))
        body = Body((kind.element,) * 3, (ScalarOp("arith.mulf", (0, 1), kind.element),), (3,))
    else:
        body = Body((kind.element,) * 2, _times(scale.number, kind.element), (3,))
    builder.add(
        Structured(
            tuple(sources), (Uninitialized(),), (result,), kind.shape, (_P,) * rank,
            (*maps, identity_map(rank)), body, ahead=True,
        )
    )  # fmt: skip
    return result
