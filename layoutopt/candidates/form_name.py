"""Words for the form of a candidate, the same in every report."""

from __future__ import annotations

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.egraph import EGraph


def form_name(egraph: EGraph, cluster: Cluster, candidate: Candidate) -> str:
    """The rules that made a candidate's form, and how it is written."""
    parts = [*egraph.rule[cluster.root]] or ["as it came"]
    parts += ["with its pad"] * cluster.region
    parts += ["data-tiled"] * candidate.hint
    parts += ["packed"] * candidate.packed
    return " + ".join(parts)
