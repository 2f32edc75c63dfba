"""What a plan was chosen among: how many candidates there were, and what was left out of them."""

from __future__ import annotations

from dataclasses import dataclass

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.egraph import SaturationStop
from layoutopt.options import Effort
from layoutopt.planning.plan_space import PlanSpace
from layoutopt.planning.priced import Priced


@dataclass(frozen=True, slots=True)
class Searched:
    """The candidates of one function, and every limit that kept something out of the search."""

    enumerated: int
    priced: int
    refused: int
    """Those that cannot be written, do not compile or compute wrong numbers."""
    bounded: int
    """Those without a price: roofs, or prices of candidates like it, say that none would pay."""
    regions: int
    """Dispatch regions, left out where prices are estimates: an estimate does not tell which of
    them compile."""
    tensors: int
    """Tensors that may take other layouts, those of alternatives included."""
    cut: int
    """Tensors for which more layouts were found than were taken into account."""
    op_limit: bool
    """Whether rewriting stopped at a limit, of ops or of tries."""
    effort: Effort
    """How much was to be priced of what could be cheaper."""
    rounds_ended: bool
    """Whether lazy pricing stopped at its limit of rounds."""


def searched(plan_space: PlanSpace, priced: Priced) -> Searched:
    """Count what was priced, and what was left out."""
    space, regions = plan_space.space, plan_space.regions_left_out
    refused = sum(isinstance(key, Candidate) for key in priced.refused)
    bounded = len(plan_space.candidates) - len(priced.costs) - refused
    graph = space.egraph.graph
    return Searched(
        enumerated=len(space.candidates),
        priced=len(priced.costs),
        refused=len(space.candidates) - len(priced.costs) - bounded - regions,
        bounded=bounded,
        regions=regions,
        tensors=len(graph.types) - len(graph.constants),
        cut=len(space.cut),
        op_limit=space.egraph.stop_reason is not SaturationStop.SATURATED,
        effort=priced.effort,
        rounds_ended=priced.rounds_ended,
    )
