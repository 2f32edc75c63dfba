"""How a pair can be derived, and what a set of used candidates and conversions really computes.

Shared by the searches. `check.py` stays apart from it on purpose.
"""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from layoutopt.solver.problem import Pair, Problem


@dataclass(frozen=True, slots=True)
class Derivation:
    """All that can be computed from what is given, in the order in which it can be computed.

    native:  pair -> the candidate that made it first, None if it is given
    arrived: available pair -> the conversion that it came by first, None if it is native
    ran:     the candidates whose inputs became available, in order
    """

    native: dict[Pair, int | None]
    arrived: dict[Pair, int | None]
    ran: tuple[int, ...]


class Derivability:
    """Tables of a problem: makers, users and conversions by pair, each in ascending order."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    @cached_property
    def makers(self) -> dict[Pair, list[int]]:
        """Candidates that make a pair."""
        return _by_pair(c.outputs for c in self.problem.candidates)

    @cached_property
    def tensor_makers(self) -> dict[int, list[int]]:
        """Candidates that make a tensor, in any layout; at most one of them is used."""
        table: dict[int, list[int]] = {}
        for i, candidate in enumerate(self.problem.candidates):
            for tensor in dict.fromkeys(tensor for tensor, _ in candidate.outputs):
                table.setdefault(tensor, []).append(i)
        return table

    @cached_property
    def users(self) -> dict[Pair, list[int]]:
        """Candidates that need a pair."""
        return _by_pair(c.inputs for c in self.problem.candidates)

    @cached_property
    def departing(self) -> dict[Pair, list[int]]:
        """Conversions that start from a pair."""
        return _by_pair(((c.tensor, c.source),) for c in self.problem.conversions)

    @cached_property
    def arriving(self) -> dict[Pair, list[int]]:
        """Conversions that end at a pair."""
        return _by_pair(((c.tensor, c.target),) for c in self.problem.conversions)

    def is_free(self, conversion: int) -> bool:
        """Neither time nor budget is spent on this conversion."""
        c = self.problem.conversions[conversion]
        return c.cost_ns == 0 and (c.size_bytes == 0 or self.problem.weight_budget_bytes is None)

    def derive(self, candidates: Iterable[int], conversions: Iterable[int]) -> Derivation:
        """Run every candidate once its inputs are available, starting from the given pairs."""
        used = sorted(set(candidates))
        converting = set(conversions)
        allowed = set(used)
        missing = {i: len(set(self.problem.candidates[i].inputs)) for i in used}
        native: dict[Pair, int | None] = {}
        arrived: dict[Pair, int | None] = {}
        ran: list[int] = []
        ready = deque(i for i in used if missing[i] == 0)

        def arrive(pair: Pair, by: int | None) -> None:
            if pair in arrived:
                return
            arrived[pair] = by
            for user in self.users.get(pair, ()):
                if user in allowed:
                    missing[user] -= 1
                    if missing[user] == 0:
                        ready.append(user)

        def make(pair: Pair, by: int | None) -> None:
            if pair in native:
                return
            native[pair] = by
            arrive(pair, None)
            for conversion in self.departing.get(pair, ()):
                if conversion in converting:
                    arrive((pair[0], self.problem.conversions[conversion].target), conversion)

        for pair in sorted(self.problem.given):
            make(pair, None)
        while ready:
            candidate = ready.popleft()
            ran.append(candidate)
            for pair in self.problem.candidates[candidate].outputs:
                make(pair, candidate)
        return Derivation(native, arrived, tuple(ran))

    def needed(self, found: Derivation) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Return the candidates and conversions that the demands need, None if one is unmet."""
        wanted: list[Pair] = []
        for demand in self.problem.demanded:
            met = [p for p in ((demand.tensor, x) for x in demand.layouts) if p in found.arrived]
            if not met:
                return None
            wanted.append(next((p for p in met if found.arrived[p] is None), met[0]))
        candidates: set[int] = set()
        conversions: set[int] = set()
        while wanted:
            pair = wanted.pop()
            conversion = found.arrived[pair]
            if conversion is not None:
                conversions.add(conversion)
                pair = (pair[0], self.problem.conversions[conversion].source)
            maker = found.native[pair]
            if maker is not None and maker not in candidates:
                candidates.add(maker)
                wanted.extend(self.problem.candidates[maker].inputs)
        return tuple(sorted(candidates)), tuple(sorted(conversions))

    def pruned(
        self, candidates: Iterable[int], conversions: Iterable[int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
        """Drop what is not needed; None if some demand cannot be met. Never costs more."""
        return self.needed(self.derive(candidates, conversions))

    def cost_ns(self, candidates: Iterable[int], conversions: Iterable[int]) -> int:
        """Add up the costs, in nanoseconds."""
        return sum(self.problem.candidates[i].cost_ns for i in candidates) + sum(
            self.problem.conversions[i].cost_ns for i in conversions
        )

    def size_bytes(self, conversions: Iterable[int]) -> int:
        """Add up what counts against the weight budget, in bytes."""
        return sum(self.problem.conversions[i].size_bytes for i in conversions)


def _by_pair(pairs_of: Iterable[Iterable[Pair]]) -> dict[Pair, list[int]]:
    table: dict[Pair, list[int]] = {}
    for i, pairs in enumerate(pairs_of):
        for pair in dict.fromkeys(pairs):
            table.setdefault(pair, []).append(i)
    return table
