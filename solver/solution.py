"""The answer to a selection problem: what was chosen, how good it is, why the search stopped."""

from dataclasses import dataclass
from enum import Enum, StrEnum


class Status(Enum):
    """What is known about the answer; why the search ended is the stop reason's business."""

    OPTIMAL = "optimal"  # no answer is cheaper
    FEASIBLE = "feasible"  # an answer, at most `gap` away from the cheapest
    INFEASIBLE = "infeasible"  # there is no answer
    UNKNOWN = "unknown"  # none was found, there may be one


class StopReason(StrEnum):
    """Why the search ended."""

    PROVED = "proved"  # the bound met the objective, or the problem has no answer
    TIME_LIMIT = "time limit"
    EXHAUSTED = "search exhausted"  # a heuristic did all it does
    NUMERICS = "numerics"  # the integer program's solver gave up
    CLOSE = "close enough"  # the gap that was asked for is reached


@dataclass(frozen=True, slots=True)
class Solution:
    """Indices of the used candidates and conversions, ascending.

    `objective_ns` and `gap` are None where there is no answer. `bound_ns`: no answer costs less.
    `gap` is (objective - bound) / objective, 0 for an objective of 0.
    """

    status: Status
    candidates: tuple[int, ...]
    conversions: tuple[int, ...]
    objective_ns: int | None
    bound_ns: int
    gap: float | None
    seconds: float
    stop_reason: StopReason


def answer(
    candidates: tuple[int, ...],
    conversions: tuple[int, ...],
    objective_ns: int,
    bound_ns: int,
    seconds: float,
    stop_reason: StopReason,
) -> Solution:
    """Return an answer; it is OPTIMAL exactly if its bound says so."""
    bound_ns = min(bound_ns, objective_ns)
    optimal = bound_ns == objective_ns
    return Solution(
        status=Status.OPTIMAL if optimal else Status.FEASIBLE,
        candidates=candidates,
        conversions=conversions,
        objective_ns=objective_ns,
        bound_ns=bound_ns,
        gap=(objective_ns - bound_ns) / objective_ns if objective_ns else 0.0,
        seconds=seconds,
        stop_reason=StopReason.PROVED if optimal else stop_reason,
    )


def no_answer(status: Status, seconds: float, stop_reason: StopReason) -> Solution:
    """Return INFEASIBLE or UNKNOWN."""
    return Solution(status, (), (), None, 0, None, seconds, stop_reason)
