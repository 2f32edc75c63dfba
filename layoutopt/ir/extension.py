"""Ops that say of themselves all that the stages ask: one file and one row a kind.

The kinds of ``layoutopt.ir.ops`` are what candidates, rules and costs are made of, and each stage
knows them. An extension is an op that keeps its meaning and only passes layouts on, as
``linalg.softmax`` does. To add one, write its class into a file of ``layoutopt.ir.extensions`` and
its name into the table there; an installed package can do the same by an entry point.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from layoutopt.ir.layout import Layout, row_major
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.ir.types import Array, TensorType, numpy_dtype

if TYPE_CHECKING:
    from layoutopt.ir.relayout import Physical

Known = tuple[Array, Array | None]
"""Values in the widest type of their kind, and bounds of their errors; None where exact."""
Compute = Callable[[ScalarOp, Sequence[str], Sequence[Known]], Known]
"""What an op of a body computes of operands of these element types."""


@dataclass(frozen=True, slots=True)
class Occurrence:
    """An MLIR operation of a kind's name, and its tensors.

    ``types``: those of the tensors by number, ``sources`` and ``results`` among them.
    """

    operation: Any
    sources: tuple[int, ...]
    results: tuple[int, ...]
    types: Sequence[TensorType]

    @property
    def dim(self) -> int:
        """The dim that its attribute ``dimension`` names."""
        return int(str(self.operation.attributes["dimension"]).split()[0])

    @property
    def element(self) -> str:
        """The element type of the first source."""
        return self.types[self.sources[0]].element

    def without_array(self) -> Refusal | None:
        """Why NumPy holds no array of some source; None where it holds all."""
        elements = (self.types[t].element for t in self.sources)
        unknown = next((e for e in elements if numpy_dtype(e) is None), None)
        if unknown is None:
            return None
        return Refusal(f"expected elements that NumPy knows, but got {unknown}")


@dataclass(frozen=True, slots=True)
class Extension(ABC):
    """An op over static tensors. ``sources`` and ``results``: tensors read and made.

    What it computes is said by one of the two classes below: derive from `EvaluatedExtension`, or
    from `BoundedExtension` where errors follow from the body of the op.
    """

    sources: tuple[int, ...]
    results: tuple[int, ...]

    mlir_name: ClassVar[str]
    """The op in MLIR, such as ``linalg.softmax``."""
    is_fallback: ClassVar[bool] = False
    """Whether ops of this name are read so only where their bodies read at places without a map."""

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensors read."""
        return self.sources

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensors made."""
        return self.results

    def renamed(self, read: Callable[[int], int], made: Callable[[int], int]) -> Self:
        """The op over other tensors."""
        sources, results = map(read, self.sources), map(made, self.results)
        return replace(self, sources=tuple(sources), results=tuple(results))

    @classmethod
    def operands(cls, operation: Any) -> Sequence[Any]:
        """The MLIR values that are read, of an operation of this name: all operands by default."""
        return list(operation.operands)

    @classmethod
    @abstractmethod
    def read(cls, found: Occurrence) -> Self | Refusal:
        """The op of an MLIR operation. A refusal makes it a barrier, with that reason."""

    @classmethod
    @abstractmethod
    def examples(cls) -> tuple[tuple[Self, tuple[TensorType, ...]], ...]:
        """Ops over tensors 0, 1, ... with the types of these: what the tests hold the kind to."""

    @abstractmethod
    def emit(self, types: Sequence[TensorType]) -> list[str]:
        """Lines of MLIR that compute ``%t<result>`` from ``%t<source>``, all row-major."""

    def positions(self, types: Sequence[TensorType]) -> dict[int, tuple[int, ...]]:
        """The sources whose integers are positions, and how many of these there are.

        One number for all integers of a source, or one for each along its last dim. An integer
        outside of them has no meaning.
        """
        return {}

    def loops(self, types: Sequence[TensorType]) -> Mapping[int, Sequence[Hashable]]:
        """By tensor, what each of its dims is along: dims along one loop have one size.

        None: a dim that no other is known to be like.
        """
        return {}

    def terms(self, types: Sequence[TensorType]) -> int:
        """The length of the longest sum that one element of a result is made of."""
        return 1

    def propagate(
        self, types: Sequence[TensorType], tensor: int, layout: Layout
    ) -> Assignment | Refusal:
        """The layouts of all tensors, given that of one: row-major unless a kind knows better."""
        if not layout.is_row_major:
            return Refusal(f"expected row-major tensors of {self.mlir_name}, but got {layout}")
        return {t: row_major(len(types[t].shape)) for t in (*self.inputs, *self.outputs)}

    def relayout(self, layouts: Assignment, physical: Physical) -> Refusal | None:
        """Add the op over tensors in these layouts to ``physical``, or say why it has no form."""
        refusal = self.refusal(layouts, physical.types)
        if refusal is not None:
            return refusal

        def place(tensor: int) -> int:
            return physical.tensor(tensor, layouts[tensor])

        physical.builder.add(self.moved(layouts).renamed(place, place))
        return None

    def refusal(self, layouts: Assignment, types: Sequence[TensorType]) -> Refusal | None:
        """Why the op has no form in these layouts."""
        return next(
            (
                Refusal(f"expected row-major tensors of {self.mlir_name}, but got {layouts[t]}")
                for t in (*self.inputs, *self.outputs)
                if not layouts[t].is_row_major
            ),
            None,
        )

    def moved(self, layouts: Mapping[int, Layout]) -> Self:
        """The op with its attributes as they are over tensors in these layouts."""
        return self


@dataclass(frozen=True, slots=True)
class Evaluated:
    """What an op computed, and of what. ``errors``: of the values; None where they are exact."""

    values: Sequence[Array]
    errors: Sequence[Array | None]
    results: Sequence[Array]
    types: Sequence[TensorType]
    """Those of all tensors, by number."""


class EvaluatedExtension(Extension):
    """A kind that says its results first, and then how far right ones may be off."""

    __slots__ = ()

    @abstractmethod
    def evaluate(self, values: Sequence[Array], types: Sequence[TensorType]) -> tuple[Array, ...]:
        """The results in NumPy, given the sources."""

    @abstractmethod
    def error(self, made: Evaluated) -> tuple[Array | None, ...]:
        """Bounds of the absolute errors of right results, element by element."""

    def computed(self) -> tuple[tuple[Body, int], ...]:
        """Bodies of one argument that are computed from a source each, element by element.

        ``evaluate`` and ``error`` get what these yield behind the values of the sources.
        """
        return ()


class BoundedExtension(Extension):
    """A kind whose bodies give results and errors in one pass."""

    __slots__ = ()

    @abstractmethod
    def bounded(
        self, given: Sequence[Known], types: Sequence[TensorType], compute: Compute
    ) -> tuple[Known, ...]:
        """The results and their bounds, of sources and bounds in the widest type of their kind.

        ``compute``: what one op of a body computes.
        """
