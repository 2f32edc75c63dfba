"""From a candidate as it is emitted to the work of its dispatch."""

from __future__ import annotations

import math
from dataclasses import replace

from layoutopt.candidates.candidate import PhysicalForm
from layoutopt.ir.affine import plain_dims
from layoutopt.ir.concrete import concrete
from layoutopt.ir.graph import Gather, Graph, Op, Reshape, Structured, each_op
from layoutopt.ir.named import named_op
from layoutopt.ir.roles import is_windowed, roles
from layoutopt.ir.scalar import adds_up_products
from layoutopt.pricing.analytic.work import Contraction, DispatchWork
from layoutopt.profiles.target import Target


def dispatch_work(form: PhysicalForm, target: Target) -> DispatchWork:
    """A form of known sizes as one dispatch: its real bytes, padding included, its contraction."""
    graph = form.graph
    reads = tuple(graph.types[t].size_bytes for t in dict.fromkeys((*form.inputs, *form.weights)))
    for op in graph.ops:
        if isinstance(op, Gather):  # of the table, the rows that are looked up
            reads = tuple(graph.types[t].size_bytes for t in (op.indices, op.result))
    writes = tuple(graph.types[t].size_bytes for t in dict.fromkeys(form.outputs))
    root = _root(graph)
    if root is None:
        return DispatchWork(reads, writes, share=_copy_share(graph, target))
    by_form = target.rates.efficiency
    name = form_name(root)
    known = not by_form or name in {"matmul", "conv_nhwc"}
    return DispatchWork(
        reads, writes, contraction_of(root, graph), by_form.get(name, 1.0), known_form=known
    )


def all_work(form: PhysicalForm, target: Target) -> tuple[DispatchWork, ...]:
    """The work of each dispatch of a form at the sizes that are planned for.

    None where nothing moves.
    """
    if form.is_free:
        return ()
    planned = replace(form, graph=concrete(form.graph))
    return tuple(dispatch_work(part, target) for part in dispatches(planned))


def dispatches(form: PhysicalForm) -> tuple[PhysicalForm, ...]:
    """The form in parts that we expect IREE to run one by one: the whole, with one contraction.

    A form with several is taken apart: each op by itself, with the elementwise ops behind it.
    """
    graph = form.graph
    if sum(map(_is_product_sum, each_op(graph.ops))) < 2:
        return (form,)
    groups: list[list[Op]] = []
    last: set[int] = set()
    for op in graph.ops:
        if isinstance(op, Reshape):
            last |= {op.result} if op.source in last else set()
        elif groups and isinstance(op, Structured) and op.is_elementwise and last & {*op.inputs}:
            groups[-1].append(op)
            last = {*op.outputs}
        else:
            groups.append([op])
            last = {*op.outputs}
    return tuple(_part(form, tuple(group)) for group in groups)


def _part(form: PhysicalForm, ops: tuple[Op, ...]) -> PhysicalForm:
    """Some ops of a form with what they take and what they leave behind."""
    made = {t for op in ops for t in op.outputs}
    taken = tuple(dict.fromkeys(t for op in ops for t in op.inputs if t not in made))
    left = ops[-1].outputs
    part = Graph(form.graph.types, ops, taken, left)
    return PhysicalForm(part, taken, (), left)


def form_name(op: Structured) -> str:
    """The row of `rates.efficiency` that a contraction belongs to."""
    if op.schedule is not None:
        return "matmul"
    named = named_op(op)
    if named is None:
        return "conv_other" if is_windowed(op) else "generic"
    if "matmul" in named.name or named.name in ("matvec", "vecmat", "dot", "mmt4d", "batch_mmt4d"):
        return "matmul"
    image = named.name.split("_")[-2]
    return "conv_nhwc" if image.endswith("c") else "conv_nchw"


def contraction_of(op: Structured, graph: Graph) -> Contraction:
    """Sizes of the implicit matmul: which operands a loop moves says whether it is m, n or batch.

    A filter loop of a convolution moves the image too but is summed over, so it belongs to k.
    """
    found = roles(op)
    batch, m, n, k = (
        math.prod(op.domain[d] for d in loops)
        for loops in (found.batch, found.m, found.n, (*found.k, *found.window))
    )
    return Contraction(batch, m, n, k, graph.types[op.sources[0]].element)


def _is_product_sum(op: Op) -> bool:
    """Whether it is a contraction, of unsigned factors too."""
    if not isinstance(op, Structured) or len(op.sources) != 2 or not op.reduction_dims:
        return False
    return adds_up_products(op.body)


def _root(graph: Graph) -> Structured | None:
    """The contraction with the most work; None where there is none."""
    ops = each_op(graph.ops)
    found = [op for op in ops if isinstance(op, Structured) and _is_product_sum(op)]
    return max(found, key=lambda op: math.prod(op.domain), default=None)


def _copy_share(graph: Graph, target: Target) -> float:
    """What is left of the streaming rate where neighbours in memory do not stay neighbours."""
    if not any(_is_scattered(op) for op in graph.ops):
        return 1.0
    return target.rates.efficiency.get("copy", 1.0)


def _is_scattered(op: Op) -> bool:
    """Whether neighbours in the result are not neighbours in some input."""
    if isinstance(op, Reshape) or not isinstance(op, Structured) or not op.source_maps:
        return False
    result = plain_dims(op.result_maps[0])
    if not result or not op.is_elementwise:
        return False
    last = next((d for d in reversed(result) if op.domain[d] != 1), None)
    return any(
        m and any(last in form.dims for form in m) and last not in m[-1].dims
        for m in op.source_maps
    )
