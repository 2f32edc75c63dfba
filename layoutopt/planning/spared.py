"""Candidates that make less, for places where a plan reads less of what one makes.

    a = contraction, + residual, squared      makes two tensors
    b = squared, reduced                      computes the squares anew

With such a b nothing reads the squares of a, and they are not written. What makes the rest alone is
what runs; but rounds that ask for prices need not come to it, and its price may be off by more than
the squares take.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice
from layoutopt.planning.plan_space import PlanSpace
from layoutopt.planning.priced import Priced


def sparing(space: PlanSpace, priced: Priced, choice: Choice) -> dict[Candidate, Candidate]:
    """What makes only what is read, with the chosen candidate of the same form that makes more.

    Where it has no price, or not the lower one.
    """
    clusters, graph = space.space.clusters, space.graph
    chosen = [(c, clusters[c.cluster]) for c in choice.candidates]
    read = {t for _, cluster in chosen for t in cluster.inputs} | {*graph.outputs}
    found: dict[Candidate, Candidate] = {}
    for candidate, cluster in chosen:
        outputs = tuple(t for t in cluster.outputs if t in read)
        if outputs == cluster.outputs or not outputs or candidate not in priced.costs:
            continue
        layouts, cost_ns = {*candidate.layouts}, priced.costs[candidate]
        found |= {
            other: candidate
            for other in space.candidates
            if (other.form, other.tile) == (candidate.form, candidate.tile)
            and clusters[other.cluster].outputs == outputs
            and {*clusters[other.cluster].ops} < {*cluster.ops}
            and {*other.layouts} <= layouts
            and other not in priced.refused
            and priced.costs.get(other, cost_ns) >= cost_ns
        }
    return found


def take_less(priced: Priced, spare: Mapping[Candidate, Candidate]) -> None:
    """What makes less costs less than what makes more, if by a nanosecond."""
    for other, candidate in spare.items():
        most_ns = priced.costs[candidate] - 1
        if priced.costs.get(other, 0) > most_ns:
            priced.costs[other] = most_ns
            priced.prices[other] = replace(priced.prices[candidate], cost_ns=most_ns)
