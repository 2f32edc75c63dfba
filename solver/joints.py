"""Solve the pieces of a problem one after another, from the outermost to the one in the middle.

The pieces are a tree. Towards its root, a piece either makes the joint to its neighbour or reads
it; for each layout of that joint, its cheapest answer is found, with what is further out as
candidates of one number each: their cheapest answers for that layout. A joint may be left out,
too, by the piece that makes it and the one that reads it: that is one layout more. Pieces that are
the same but for the names of tensors, with the same numbers around them, are solved once (dynamic
programming over a tree decomposition of width one; Bertele and Brioschi, Nonserial dynamic
programming, 1972).
"""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import dataclass, field, replace

from layoutopt.solver.derivability import Derivability
from layoutopt.solver.flow import required_tensors
from layoutopt.solver.pieces import Pieces
from layoutopt.solver.problem import Candidate, Conversion, Demand, Pair, Problem


@dataclass(frozen=True, slots=True)
class Part:
    """The best answer of one piece: its candidates and conversions, and what bounds every one."""

    candidates: tuple[int, ...]
    conversions: tuple[int, ...]
    cost_ns: int
    bound_ns: int


_WITHOUT = -1
"""In the place of a layout: of a joint that is not there."""
Solve = Callable[[Problem], Part | None]
"""None where a problem has no answer. Raises TimeoutError where none was found in time."""


@dataclass(slots=True)
class _Piece:
    """What belongs to one piece, and the joints around it."""

    candidates: list[int] = field(default_factory=list)
    conversions: list[int] = field(default_factory=list)
    demands: list[Demand] = field(default_factory=list)
    makes: list[int] = field(default_factory=list)
    reads: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Answer:
    """Of a piece and all further out, for one layout of the joint towards the root."""

    part: Part
    chosen: tuple[Pair, ...]
    """The joints further out, each with the layout that was chosen for it."""
    cost_ns: int
    """Of all of it."""
    slack_ns: int
    """That much cheaper an answer of all of it may be at most."""

    @property
    def is_idle(self) -> bool:
        """Whether nothing has to run, so that it may as well not be there."""
        return not self.part.candidates and not self.chosen


def solve_pieces(problem: Problem, parts: Pieces, solve: Solve) -> Part | None:
    """The cheapest answer of a problem without budgets, by those of its pieces."""
    return _Tree(problem, parts, solve).answer()


class _Tree:
    def __init__(self, problem: Problem, parts: Pieces, solve: Solve) -> None:
        self.problem, self.parts, self.solve = problem, parts, solve
        self.pieces = [_Piece() for _ in range(max(parts.of, default=-1) + 1)]
        for i, number in enumerate(parts.of):
            self.pieces[number].candidates.append(i)
        for tensor, (maker, reader) in parts.joints.items():
            self.pieces[maker].makes.append(tensor)
            self.pieces[reader].reads.append(tensor)
        readers = self._readers()
        for i, conversion in enumerate(problem.conversions):
            for number in readers.get(conversion.tensor, ()):
                self.pieces[number].conversions.append(i)
        for demand in problem.demanded:
            self.pieces[self._demanding(demand)].demands.append(demand)
        self.known: dict[Hashable, Part | None] = {}
        self.found: dict[int, dict[int, _Answer]] = {joint: {} for joint in parts.joints}
        """By joint and its layout, of what is further out from it."""

    def _readers(self) -> dict[int, list[int]]:
        """Pieces that read each tensor, or that it is demanded from."""
        found: dict[int, dict[int, None]] = {}
        for number, piece in enumerate(self.pieces):
            for i in piece.candidates:
                for tensor, _ in self.problem.candidates[i].inputs:
                    found.setdefault(tensor, {})[number] = None
        for demand in self.problem.demanded:
            found.setdefault(demand.tensor, {})[self._demanding(demand)] = None
        return {tensor: list(numbers) for tensor, numbers in found.items()}

    def _demanding(self, demand: Demand) -> int:
        """The piece of a demand: the one that makes its tensor, or reads it."""
        for i, candidate in enumerate(self.problem.candidates):
            if any(t == demand.tensor for t, _ in (*candidate.outputs, *candidate.inputs)):
                return self.parts.of[i]
        return 0

    def answer(self) -> Part | None:
        """Of the whole: of each tree, from its leaves to its root."""
        roots: list[_Answer] = []
        for root, order in self._trees():
            for number, joint in order:
                for layout in self._layouts(joint):
                    found = self._answered(number, (joint, layout))
                    if found is not None:
                        self.found[joint][layout] = found
            last = self._answered(root, None)
            if last is None:
                return None
            roots.append(last)
        cost_ns = sum(found.cost_ns for found in roots)
        slack_ns = sum(found.slack_ns for found in roots)
        parts = [part for found in roots for part in self._collected(found)]
        candidates = sorted(i for part in parts for i in part.candidates)
        conversions = sorted({i for part in parts for i in part.conversions})
        return Part(tuple(candidates), tuple(conversions), cost_ns, max(0, cost_ns - slack_ns))

    def _trees(self) -> Iterator[tuple[int, list[tuple[int, int]]]]:
        """Roots, each with the pieces of its tree, outer ones first, and their joints inwards."""
        seen: set[int] = set()
        largest = sorted(range(len(self.pieces)), key=lambda n: -len(self.pieces[n].candidates))
        for root in largest:
            if root in seen:
                continue
            seen.add(root)
            order: list[tuple[int, int]] = []
            stack = [root]
            while stack:
                number = stack.pop()
                for joint in (*self.pieces[number].makes, *self.pieces[number].reads):
                    maker, reader = self.parts.joints[joint]
                    other = reader if maker == number else maker
                    if other not in seen:
                        seen.add(other)
                        order.append((other, joint))
                        stack.append(other)
            yield root, order[::-1]

    def _layouts(self, joint: int) -> list[int]:
        """Of a joint, in any answer."""
        maker, _ = self.parts.joints[joint]
        makers = (self.problem.candidates[i] for i in self.pieces[maker].candidates)
        made = {layout for c in makers for tensor, layout in c.outputs if tensor == joint}
        return sorted(made | {_WITHOUT})

    def _answered(self, number: int, inwards: Pair | None) -> _Answer | None:
        """The cheapest answer of a piece and what is further out; ``inwards``: the joint."""
        piece, local = self.pieces[number], _Local(self.problem)
        for i in piece.candidates:
            local.candidate(self.problem.candidates[i])
        outer: list[Pair] = []
        for joint in (*piece.makes, *piece.reads):
            if inwards is not None and joint == inwards[0]:
                continue
            without = self.found[joint].get(_WITHOUT)
            idle = joint in piece.reads and without is not None and without.is_idle
            for layout, found in self.found[joint].items():
                if not (idle and found is without):
                    pair = joint, layout
                    local.outside(pair, found.cost_ns, made_here=joint in piece.makes, idle=idle)
                    outer.append(pair)
            if not idle:
                local.demand_outside(joint)
        for i in piece.conversions:
            local.conversion(self.problem.conversions[i])
        for demand in piece.demands:
            local.demand(demand)
        if inwards is not None:
            local.inwards(inwards, makes=inwards[0] in piece.makes)
        base_ns = local.lower()
        part = self._solved(local)
        if part is None:
            return None
        own = len(piece.candidates)
        return _Answer(
            Part(
                tuple(piece.candidates[i] for i in part.candidates if i < own),
                tuple(piece.conversions[i] for i in part.conversions),
                part.cost_ns,
                part.bound_ns,
            ),
            tuple(outer[i - own] for i in part.candidates if i >= own),
            part.cost_ns + base_ns,
            part.cost_ns - part.bound_ns + self._slack(piece, inwards),
        )

    def _slack(self, piece: _Piece, inwards: Pair | None) -> int:
        joints = (j for j in (*piece.makes, *piece.reads) if inwards is None or j != inwards[0])
        return sum(max((a.slack_ns for a in self.found[j].values()), default=0) for j in joints)

    def _solved(self, local: "_Local") -> Part | None:
        key = local.key()
        if key not in self.known:
            self.known[key] = self.solve(local.problem())
        return self.known[key]

    def _collected(self, found: _Answer) -> Iterator[Part]:
        stack = [found]
        while stack:
            now = stack.pop()
            yield now.part
            stack.extend(self.found[joint][layout] for joint, layout in now.chosen)


class _Local:
    """One piece as a problem of its own, with tensors and ops numbered as they come."""

    def __init__(self, whole: Problem) -> None:
        self._given = _by_tensor(whole.given)
        self._tensors: dict[int, int] = {}
        self._ops: dict[int, int] = {}
        self._outside: dict[int, int] = {}
        self._further: dict[int, list[int]] = {}
        """Candidates of what is further out, by what they make."""
        self._count = 0
        self._candidates: list[Candidate] = []
        self._conversions: list[Conversion] = []
        self._demands: list[Demand] = []
        self._own: set[Pair] = set()

    def _tensor(self, tensor: int) -> int:
        if tensor not in self._tensors:
            self._tensors[tensor] = self._new()
            number = self._tensors[tensor]
            self._own |= {(number, layout) for layout in self._given.get(tensor, ())}
        return self._tensors[tensor]

    def _new(self) -> int:
        self._count += 1
        return self._count - 1

    def candidate(self, c: Candidate) -> None:
        """One of the piece's own."""
        inputs = tuple((self._tensor(t), x) for t, x in c.inputs)
        outputs = tuple((self._tensor(t), x) for t, x in c.outputs)
        op = self._ops.setdefault(c.op, len(self._ops))
        self._candidates.append(Candidate(op, c.cost_ns, inputs, outputs))

    def conversion(self, c: Conversion) -> None:
        """One of the piece's own."""
        self._conversions.append(replace(c, tensor=self._tensor(c.tensor)))

    def demand(self, d: Demand) -> None:
        """One of the model."""
        self._demands.append(Demand(self._tensor(d.tensor), d.layouts))

    def outside(self, pair: Pair, cost_ns: int, *, made_here: bool, idle: bool) -> None:
        """What is further out, for one layout of a joint; ``idle``: it may not be there."""
        joint, layout = pair
        own = () if layout == _WITHOUT else ((self._tensor(joint), layout),)
        done = () if idle else ((self._done(joint), 0),)
        inputs, outputs = (own, done) if made_here else ((), (*done, *own))
        op = self._ops.setdefault(-1 - joint, len(self._ops))
        self._further.setdefault(outputs[0][0], []).append(len(self._candidates))
        self._candidates.append(Candidate(op, cost_ns, inputs, outputs))

    def _done(self, joint: int) -> int:
        """A tensor that is there when all further out is done."""
        if joint not in self._outside:
            self._outside[joint] = self._new()
        return self._outside[joint]

    def demand_outside(self, joint: int) -> None:
        """What is further out has to be done."""
        self._demands.append(Demand(self._done(joint), (0,)))

    def inwards(self, pair: Pair, *, makes: bool) -> None:
        """The joint towards the root: demanded as it is made, or given so."""
        own = (self._tensor(pair[0]), pair[1])
        if pair[1] == _WITHOUT:
            return
        if makes:
            self._demands.append(Demand(own[0], (own[1],)))
        else:
            self._own.add(own)

    def lower(self) -> int:
        """Take off what every answer pays further out, so that pieces are equal; how much it is."""
        required = required_tensors(Derivability(self.problem()))
        lowered_ns = 0
        for tensor, further in self._further.items():
            makers = [c for c in self._candidates if any(t == tensor for t, _ in c.outputs)]
            if tensor in required and len(makers) == len(further):
                least_ns = min(self._candidates[i].cost_ns for i in further)
                lowered_ns += least_ns
                for i in further:
                    c = self._candidates[i]
                    self._candidates[i] = replace(c, cost_ns=c.cost_ns - least_ns)
        return lowered_ns

    def key(self) -> Hashable:
        """The same for pieces that are the same."""
        candidates = tuple((c.op, c.cost_ns, c.inputs, c.outputs) for c in self._candidates)
        given, demands = frozenset(self._own), tuple(self._demands)
        return candidates, tuple(self._conversions), demands, given

    def problem(self) -> Problem:
        """The piece."""
        return Problem(
            self._count,
            frozenset(self._own),
            tuple(self._demands),
            tuple(self._candidates),
            tuple(self._conversions),
        )


def _by_tensor(pairs: Iterable[Pair]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for tensor, layout in sorted(pairs):
        found.setdefault(tensor, []).append(layout)
    return found
