"""Plans without the widest tiles, as a start where conversions are counted.

With tiles of two widths a problem is several times as hard as with one. What is found with the
narrower alone serves where the time is over before anything better is known.
"""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.candidates.candidate import Candidate
from layoutopt.options import Options
from layoutopt.planning.joint_selection import JointChoice
from layoutopt.planning.joint_space import Costs, JointSpace
from layoutopt.solver import TimeLimit

_SHARE_LEFT = 0.2
"""Of the time, for the search among all tiles."""


def with_narrow_tiles(
    space: JointSpace, objective: Sequence[Costs], options: Options, limit: TimeLimit
) -> tuple[JointChoice, ...]:
    """The best plan that is found without the widest tiles; none where there are no others."""
    widest = max((_width(c) for own, _ in objective for c in own), default=1)
    narrow = [
        ({c: ns for c, ns in own.items() if _width(c) < widest}, conversions)
        for own, conversions in objective
    ]
    if max((_width(c) for own, _ in narrow for c in own), default=1) == 1:
        return ()
    with limit.keeping(_SHARE_LEFT):
        selection, solution = space.solved(narrow, options.search, limit)
    return () if solution.objective_ns is None else (selection.choice(solution),)


def _width(candidate: Candidate) -> int:
    tiles = (t for _, layout in candidate.layouts for t in layout.inner_tiles)
    return max(tiles, default=1)
