"""What one substitution makes of a choice: another candidate for a tensor that is in use."""

from collections.abc import Iterable, Iterator

from layoutopt.solver.choice import Choice, used_candidates
from layoutopt.solver.derivability import Derivability


def with_makers(tables: Derivability, choice: Choice, candidates: Iterable[int]) -> Choice:
    """The choice with these candidates for all tensors that they make."""
    makers = list(choice)
    for i in candidates:
        for tensor, _ in tables.problem.candidates[i].outputs:
            makers[tensor] = i
    return tuple(makers)


def substitutes(tables: Derivability, choice: Choice) -> Iterator[Choice]:
    """Every choice with one other candidate, for a tensor that is in use, in index order."""
    used = used_candidates(tables, choice)
    tensors = {t for i in used for t, _ in tables.problem.candidates[i].outputs}
    for i, candidate in enumerate(tables.problem.candidates):
        if i not in used and any(tensor in tensors for tensor, _ in candidate.outputs):
            yield with_makers(tables, choice, (i,))
