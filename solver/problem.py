"""The selection problem in integers: which candidates to use, which tensors to convert.

Tensors and layouts are numbers; a *pair* is (tensor, layout). A tensor is an e-class: any candidate
that makes it will do, in any layout that is needed or that can be converted to one that is.

The smallest set of facts that defines a right answer:

- a pair is *native* if it is given or a used candidate makes it;
- a pair is *available* if it is native, or a used conversion arrives at it from a native pair;
- the inputs of every used candidate are available, and so is one layout of every demand;
- no tensor is made twice: of the candidates that make it, at most one is used;
- it can be computed in some order: nothing needs itself, directly or in a circle;
- the bytes of the used conversions stay within the weight budget.

The objective is the sum of the used costs, in nanoseconds.

Computing a tensor twice, in two layouts, is given up on purpose: to allow it weakens the bound of
the integer program past proving anything, and on real models it never paid.
"""

from collections.abc import Iterable
from dataclasses import dataclass

Pair = tuple[int, int]  # (tensor, layout)


def _fail(where: str, expected: str, got: object) -> None:
    raise ValueError(f"{where}: expected {expected}, but got {got}; correct the problem")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to run operation `op`: needs the pairs `inputs`, makes the pairs `outputs`."""

    op: int
    cost_ns: int
    inputs: tuple[Pair, ...]
    outputs: tuple[Pair, ...]


@dataclass(frozen=True, slots=True)
class Conversion:
    """Converts one tensor from layout `source`, which must be native, to layout `target`, once.

    `size_bytes` counts against the weight budget: a constant's copy, which stays in memory.
    """

    tensor: int
    source: int
    target: int
    cost_ns: int
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Demand:
    """The graph needs `tensor` in any one of `layouts`."""

    tensor: int
    layouts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Problem:
    """Tensors are 0 .. tensors - 1; candidates and conversions are named by their index.

    Raises ValueError naming the first offender.
    """

    tensors: int
    given: frozenset[Pair]
    demanded: tuple[Demand, ...]
    candidates: tuple[Candidate, ...]
    conversions: tuple[Conversion, ...]
    weight_budget_bytes: int | None = None

    def __post_init__(self) -> None:
        """Refuse what has no meaning."""
        if self.tensors < 0:
            _fail("problem", "a tensor count of at least 0", self.tensors)
        if self.weight_budget_bytes is not None and self.weight_budget_bytes < 0:
            _fail("problem", "a weight budget of at least 0 bytes", self.weight_budget_bytes)
        self._check_pairs("given", sorted(self.given))
        for i, demand in enumerate(self.demanded):
            if not demand.layouts:
                _fail(f"demand {i}", "at least one layout", "none")
            self._check_pairs(f"demand {i}", ((demand.tensor, layout) for layout in demand.layouts))
        for i, candidate in enumerate(self.candidates):
            self._check_candidate(f"candidate {i}", candidate)
        self._check_conversions()

    def _check_pairs(self, where: str, pairs: Iterable[Pair]) -> None:
        for tensor, layout in pairs:
            if not 0 <= tensor < self.tensors:
                _fail(where, f"a tensor in 0 .. {self.tensors - 1}", tensor)
            if layout < 0:
                _fail(where, "a layout of at least 0", layout)

    def _check_candidate(self, where: str, candidate: Candidate) -> None:
        if candidate.op < 0:
            _fail(where, "an op of at least 0", candidate.op)
        if candidate.cost_ns < 0:
            _fail(where, "a cost of at least 0 ns", candidate.cost_ns)
        if not candidate.outputs:
            _fail(where, "at least one output", "none")
        self._check_pairs(where, candidate.inputs)
        self._check_pairs(where, candidate.outputs)

    def _check_conversions(self) -> None:
        seen: dict[tuple[int, int, int], int] = {}
        for i, c in enumerate(self.conversions):
            where = f"conversion {i}"
            self._check_pairs(where, ((c.tensor, c.source), (c.tensor, c.target)))
            if c.source == c.target:
                _fail(where, "two different layouts", f"{c.source} twice")
            if c.cost_ns < 0:
                _fail(where, "a cost of at least 0 ns", c.cost_ns)
            if c.size_bytes < 0:
                _fail(where, "a size of at least 0 bytes", c.size_bytes)
            key = (c.tensor, c.source, c.target)
            if key in seen:
                _fail(where, "each conversion once", f"conversion {seen[key]} again")
            seen[key] = i
