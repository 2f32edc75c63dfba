"""The selection problem in integers: which candidates to use, which tensors to convert.

Tensors and layouts are numbers; a *pair* is (tensor, layout). A tensor is an e-class: any candidate
that makes it will do, in any layout that is needed or that can be converted to one that is.

The smallest set of facts that defines a right answer:

- a pair is *native* if it is given or a used candidate makes it;
- a pair is *available* if it is native, or a used conversion arrives at it from a native pair;
- the inputs of every used candidate are available, and so is one layout of every demand;
- no tensor is made twice: of the candidates that make it, at most one is used;
- it can be computed in some order: nothing needs itself, directly or in a circle;
- the bytes of the used conversions stay within the weight budget;
- what is held in memory stays within the memory budget at every step (`memory.py`).

The objective is the sum of the used costs, in nanoseconds.

Computing a tensor twice, in two layouts, is given up on purpose: to allow it weakens the bound of
the integer program past proving anything, and on real models it never paid.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

Pair = tuple[int, int]  # (tensor, layout)


def _fail(where: str, expected: str, got: object) -> None:
    raise ValueError(f"{where}: expected {expected}, but got {got}; correct the problem")


@dataclass(frozen=True, slots=True)
class Candidate:
    """One way to run operation `op`: needs the pairs `inputs`, makes the pairs `outputs`.

    Of memory: it runs at `step`, takes `scratch_bytes` of its own then, and what it makes lies
    within what it reads for each (made, read) of the places `within`; None for what has no place.
    """

    op: int
    cost_ns: int
    inputs: tuple[Pair, ...]
    outputs: tuple[Pair, ...]
    step: int = 0
    scratch_bytes: int = 0
    within: tuple[tuple[int, int | None], ...] = ()


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
    """The graph needs `tensor` in any one of `layouts`, and holds it until step `until`."""

    tensor: int
    layouts: tuple[int, ...]
    until: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """A piece of memory for one tensor: what lies there is there from step `born` on."""

    size_bytes: int
    born: int


@dataclass(frozen=True, slots=True)
class Memory:
    """What is held while the graph runs, and how much that may be at any step.

    `of` says where pairs lie; one that has no place takes nothing: weights, and what is given.
    Pairs of one place are of one tensor. A budget of None bounds nothing.
    """

    places: tuple[Place, ...]
    of: Mapping[Pair, int]
    budget_bytes: int | None = None


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
    memory: Memory = field(default_factory=lambda: Memory((), {}))

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
        self._check_memory()

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
        if candidate.scratch_bytes < 0:
            _fail(where, "scratch of at least 0 bytes", candidate.scratch_bytes)
        if not candidate.outputs:
            _fail(where, "at least one output", "none")
        self._check_pairs(where, candidate.inputs)
        self._check_pairs(where, candidate.outputs)

    def _check_memory(self) -> None:
        budget, places = self.memory.budget_bytes, len(self.memory.places)
        if budget is not None and budget < 0:
            _fail("problem", "a memory budget of at least 0 bytes", budget)
        for i, place in enumerate(self.memory.places):
            if place.size_bytes < 0:
                _fail(f"place {i}", "a size of at least 0 bytes", place.size_bytes)
        tensors: dict[int, int] = {}
        for (tensor, _), number in self.memory.of.items():
            if not 0 <= number < places:
                _fail(f"tensor {tensor}", f"a place in 0 .. {places - 1}", number)
            if tensors.setdefault(number, tensor) != tensor:
                _fail(f"place {number}", "one tensor", f"{tensors[number]} and {tensor}")
        for i, c in enumerate(self.candidates):
            made = [self.memory.of[pair] for pair in c.outputs if pair in self.memory.of]
            born = max((self.memory.places[m].born for m in made), default=c.step)
            if c.step < born:
                _fail(f"candidate {i}", f"a step from {born} on, as of what it makes", c.step)

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
