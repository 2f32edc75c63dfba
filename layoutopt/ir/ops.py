"""The ops of the dataflow graph, in the field's own terms; tensors are numbers.

Ops are values without identity of their own; their place in ``Graph.ops`` names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum

from layoutopt.ir.affine import IndexMap
from layoutopt.ir.arity import Unary, Variadic
from layoutopt.ir.extension import Extension
from layoutopt.ir.gather import Gather
from layoutopt.ir.packed_ops import Pack, Unpack
from layoutopt.ir.scalar import Body, is_contraction, is_copy
from layoutopt.ir.scatter import Scatter
from layoutopt.ir.schedule import Schedule
from layoutopt.ir.size import Size


class IteratorType(Enum):
    """How the points of one iteration dim relate."""

    PARALLEL = "parallel"
    REDUCTION = "reduction"


@dataclass(frozen=True, slots=True)
class Uninitialized:
    """An init that is never read (``tensor.empty``)."""


@dataclass(frozen=True, slots=True)
class Fill:
    """An init that holds one value everywhere (``linalg.fill``); the value as MLIR text."""

    value: str


@dataclass(frozen=True, slots=True)
class FromTensor:
    """An init that is another tensor: accumulation continues from it."""

    tensor: int


Init = Uninitialized | Fill | FromTensor


@dataclass(frozen=True, slots=True)
class Structured:
    """A linalg op: a body run over an iteration domain, operands read through indexing maps.

    ``maps`` holds one map per input, then one per result. ``domain`` are the loop sizes.
    """

    sources: tuple[int, ...]
    inits: tuple[Init, ...]
    results: tuple[int, ...]
    domain: tuple[int, ...]
    iterators: tuple[IteratorType, ...]
    maps: tuple[IndexMap, ...]
    body: Body
    data_tiled: bool = False
    """Ask IREE to data-tile this op."""
    generalized: bool = False
    """Write ``linalg.generic`` even where a named op means the same."""
    schedule: Schedule | None = None
    """How the compiler is to tile this op; None leaves it to the compiler."""
    ahead: bool = False
    """Computed ahead of time from constants, even where the result takes more memory."""

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read: sources, then tensors that are inits."""
        return (*self.sources, *(i.tensor for i in self.inits if isinstance(i, FromTensor)))

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return self.results

    @property
    def source_maps(self) -> tuple[IndexMap, ...]:
        """The maps of the inputs."""
        return self.maps[: len(self.sources)]

    @property
    def result_maps(self) -> tuple[IndexMap, ...]:
        """The maps of the results."""
        return self.maps[len(self.sources) :]

    @property
    def reduction_dims(self) -> tuple[int, ...]:
        """The dims that are summed (or otherwise folded) over."""
        return tuple(d for d, kind in enumerate(self.iterators) if kind is IteratorType.REDUCTION)

    @property
    def is_contraction(self) -> bool:
        """Whether it multiplies two tensors and adds up: matmul, convolution and their kin."""
        return len(self.sources) == 2 and is_contraction(self.body) and bool(self.reduction_dims)

    @property
    def is_copy(self) -> bool:
        """Whether it only moves data: transpose, broadcast, gather by an affine map."""
        return is_copy(self.body) and not self.reduction_dims

    @property
    def is_elementwise(self) -> bool:
        """All loops parallel and every result written at its own point."""
        return not self.reduction_dims


@dataclass(frozen=True, slots=True)
class Pad(Unary):
    """``tensor.pad`` with one constant value, given as MLIR text."""

    low: tuple[int, ...]
    high: tuple[int, ...]
    value: str
    anything: bool = False
    """What is padded is not looked at: it may be left as the memory was."""


@dataclass(frozen=True, slots=True)
class Slice(Unary):
    """``tensor.extract_slice`` without rank reduction."""

    offsets: tuple[int, ...]
    strides: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Insert:
    """``tensor.insert_slice`` without rank extension."""

    source: int
    destination: int
    result: int
    offsets: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return (self.source, self.destination)

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return (self.result,)


@dataclass(frozen=True, slots=True)
class Concat(Variadic):
    """``tensor.concat`` along one dim."""

    axis: int


@dataclass(frozen=True, slots=True)
class Reshape(Unary):
    """A change of shape that keeps the row-major order of elements (collapse or expand)."""


@dataclass(frozen=True, slots=True)
class FusionBarrier(Unary):
    """The identity, as a line that IREE's fusion does not cross.

    Stands behind what would share a dispatch with its consumer, in a form that has no price.
    """


@dataclass(frozen=True, slots=True)
class DispatchRegion:
    """Ops that IREE is to run as one dispatch (``flow.dispatch.region``).

    ``yields`` are tensors that its ops make; outside they are known as ``results``.
    """

    ops: tuple[Op, ...]
    yields: tuple[int, ...]
    results: tuple[int, ...]

    @property
    def inside(self) -> tuple[int, ...]:
        """Tensors that its ops make."""
        return tuple(t for op in self.ops for t in op.outputs)

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read from outside, in order of first use."""
        made = set(self.inside)
        return tuple(dict.fromkeys(t for op in self.ops for t in op.inputs if t not in made))

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return self.results


@dataclass(frozen=True, slots=True)
class Constant:
    """A weight or other constant; its value stays an MLIR attribute that no plan depends on.

    ``splat`` is the one value of a splat constant, as MLIR text.
    """

    result: int
    splat: str | None = None

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return ()

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return (self.result,)


@dataclass(frozen=True, slots=True)
class Opaque:
    """An op that the graph cannot see through; it takes and gives row-major tensors."""

    name: str
    sources: tuple[int, ...]
    results: tuple[int, ...]
    reason: str

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return self.sources

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return self.results


Op = (
    Structured
    | Pad
    | Slice
    | Insert
    | Scatter
    | Gather
    | Concat
    | Reshape
    | FusionBarrier
    | Pack
    | Unpack
    | DispatchRegion
    | Constant
    | Opaque
    | Extension
)


def needs_open_sizes(op: Op) -> bool:
    """Whether what an op computes depends on sizes that are known at run time only.

    Those of its tensors aside: where it reads or writes, a number in its body.
    """
    return any(True for _ in named_sizes(op))


def named_sizes(op: Op) -> Iterator[Size]:
    """The sizes of that kind that an op names."""
    match op:
        case Slice() | Insert():
            yield from _sizes_in(op.offsets)
        case Structured():
            yield from (s.size for s in op.body.ops if isinstance(s.size, Size))
        case DispatchRegion():
            for inner in op.ops:
                yield from named_sizes(inner)
        case Extension():
            yield from _sizes_in(op)


def _sizes_in(part: object) -> Iterator[Size]:
    if isinstance(part, Size):
        yield part
    elif isinstance(part, tuple):
        for item in part:
            yield from _sizes_in(item)
    elif is_dataclass(part) and not isinstance(part, type):
        for field in fields(part):
            yield from _sizes_in(getattr(part, field.name))


def each_op(ops: Iterable[Op]) -> Iterator[Op]:
    """The ops, those of dispatch regions one by one."""
    for op in ops:
        if isinstance(op, DispatchRegion):
            yield from op.ops
        else:
            yield op


def tensors_made(op: Op) -> tuple[int, ...]:
    """The results of an op, behind what is made inside of it."""
    inside = op.inside if isinstance(op, DispatchRegion) else ()
    return (*inside, *op.outputs)


def kind_name(op: Op) -> str:
    """The word for an op in reports: contraction, elementwise, reduction, pad, ..."""
    if not isinstance(op, Structured):
        return op.name if isinstance(op, Opaque) else type(op).__name__.lower()
    if op.is_contraction:
        windowed = any(len(form.terms) > 1 for m in op.source_maps for form in m)
        return "convolution" if windowed else "contraction"
    if op.reduction_dims:
        windowed = any(len(form.terms) > 1 for m in op.source_maps for form in m)
        return "pooling" if windowed else "reduction"
    if not op.sources:
        return "fill"
    return "copy" if op.is_copy else "elementwise"
