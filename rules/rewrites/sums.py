"""What the rewrites of sums share: what is added up, and contractions that differ in weights."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from layoutopt.ir.affine import Affine, IndexMap, affine, identity_map, plain_dims
from layoutopt.ir.graph import Fill, Graph, IteratorType, Op, Structured, Uninitialized
from layoutopt.ir.scalar import Body, ScalarOp, is_exact_contraction
from layoutopt.rules.rewrites.interior_padding import is_zero
from layoutopt.rules.rewrites.margin import Margin, margin
from layoutopt.rules.rewrites.window import convolution_of

_DEEPEST = 2
"""Additions behind one another at most."""


@dataclass(frozen=True, slots=True)
class Summand:
    """A tensor, and how it is read over the loops of the sum."""

    tensor: int
    forms: IndexMap


def is_sum(op: Op) -> bool:
    """Whether an op adds up two tensors, and nothing else, at each of its points."""
    if not isinstance(op, Structured) or not op.is_elementwise or len(op.results) != 1:
        return False
    if len(op.sources) != 2 or len({*op.body.arguments}) > 1 or len(op.body.ops) != 1:
        return False
    (add,) = op.body.ops
    return (
        add.name in ("arith.addf", "arith.addi")
        and sorted(add.operands) == [0, 1]
        and op.body.yields == (3,)
        and op.result_maps[0] == identity_map(len(op.domain))
    )


def summands(graph: Graph, op: Structured, deepest: int = _DEEPEST) -> Iterator[Summand]:
    """What a sum adds up, sums of sums taken apart."""
    whole = identity_map(len(op.domain))
    for tensor, forms in zip(op.sources, op.source_maps, strict=True):
        makers = (graph.ops[m] for m in graph.producers[tensor])
        inner = next((maker for maker in makers if is_sum(maker)), None)
        if forms != whole or not deepest or tensor in graph.constants or inner is None:
            yield Summand(tensor, forms)
            continue
        assert isinstance(inner, Structured)  # a sum
        yield from summands(graph, inner, deepest - 1)


def added(
    summed: Sequence[Summand], result: int, domain: tuple[int, ...], element: str
) -> Structured:
    """The sum of two tensors or more, from left to right."""
    name = "arith.addi" if element.startswith("i") else "arith.addf"
    count = len(summed)
    ops = [ScalarOp(name, (0, 1), element)]
    ops += [ScalarOp(name, (count + i - 1, i), element) for i in range(2, count)]
    rank = len(domain)
    return Structured(
        tuple(summand.tensor for summand in summed),
        (Uninitialized(),),
        (result,),
        domain,
        (IteratorType.PARALLEL,) * rank,
        (*(summand.forms for summand in summed), identity_map(rank)),
        Body((element,) * (count + 1), tuple(ops), (count + count - 1,)),
    )


@dataclass(frozen=True, slots=True)
class Weighted:
    """A contraction from zero of one tensor with another one, its weights, read along plain dims.

    Loops are named by what they are, so that equal contractions have equal names: those of the
    result by its dims, those of sums by where the tensor is read along them.
    """

    op: Structured
    position: int
    """Of the weights among the sources."""
    name_of: dict[int, int]
    """Of each loop."""

    @property
    def tensor(self) -> int:
        """What is contracted with weights."""
        return self.op.sources[1 - self.position]

    @property
    def weights(self) -> int:
        """What it is contracted with."""
        return self.op.sources[self.position]

    @property
    def forms(self) -> IndexMap:
        """How the tensor is read, over the loops' names."""
        return tuple(_renamed(f, self.name_of) for f in self.op.source_maps[1 - self.position])

    @property
    def weight_names(self) -> tuple[int, ...]:
        """The names of the loops that run along the dims of the weights."""
        dims = plain_dims(self.op.source_maps[self.position])
        assert dims is not None  # checked
        return tuple(self.name_of[d] for d in dims)

    @property
    def sizes(self) -> dict[int, int]:
        """Of each loop, by its name."""
        return {name: self.op.domain[d] for d, name in self.name_of.items()}


def weighted(graph: Graph, tensor: int) -> Iterator[Weighted]:
    """The contractions that make a tensor, with either of their factors as weights."""
    for maker in graph.producers[tensor]:
        op = graph.ops[maker]
        if not isinstance(op, Structured) or not op.is_contraction or op.body.reads_index:
            continue
        element = graph.types[tensor].element
        (init,) = op.inits
        zero = isinstance(init, Fill) and is_zero(init.value, element)
        if not zero or not is_exact_contraction(op.body):
            continue
        for position in (1, 0):
            names = _names(op, position)
            if names is not None and plain_dims(op.source_maps[position]) is not None:
                yield Weighted(op, position, names)


def differ_in_weights(one: Weighted, other: Weighted) -> bool:
    """Whether two contractions differ in their weights alone."""
    return (one.tensor, one.forms, one.sizes) == (other.tensor, other.forms, other.sizes)


def margin_of(graph: Graph, small: Weighted, large: Weighted) -> Margin | None:
    """Zeros around the first one's filter with which it does what the second does."""
    if small.position != 1 or large.position != 1:
        return None
    windows = [convolution_of(graph, found.op) for found in (small, large)]
    if windows[0] is None or windows[1] is None:
        return None
    return margin(graph, windows[0], windows[1])


def permutation(one: Weighted, other: Weighted) -> tuple[int, ...] | None:
    """For each dim of the other's weights the same dim of the one's; None where they differ."""
    names = one.weight_names
    if sorted(names) != sorted(other.weight_names):
        return None
    return tuple(map(names.index, other.weight_names))


def _names(op: Structured, position: int) -> dict[int, int] | None:
    """A name for each loop; None where some loop has none."""
    written = plain_dims(op.result_maps[0])
    if written is None:
        return None
    names = {d: i for i, d in enumerate(written)}
    for axis, form in enumerate(op.source_maps[1 - position]):
        new = [d for d in form.dims if d not in names]
        if len(new) > 1:
            return None
        names |= {d: len(written) + axis for d in new}
    return names if len(names) == len(op.domain) else None


def _renamed(form: Affine, names: dict[int, int]) -> Affine:
    return affine(((names[d], c) for d, c in form.terms), form.offset)
