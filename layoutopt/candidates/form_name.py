"""Words for the form of a candidate, the same in every report."""

from __future__ import annotations

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.egraph import EGraph
from layoutopt.candidates.form import Form


def form_name(egraph: EGraph, cluster: Cluster, candidate: Candidate) -> str:
    """The rules that made a candidate's form, and how it is written."""
    parts = [*egraph.rule[cluster.root]]
    parts += ["with its pad"] * cluster.region
    parts += ["recomputing"] * cluster.recomputes
    if candidate.form is not Form.AS_IT_CAME:
        tile = "" if candidate.tile is None else f" {candidate.tile}"
        parts.append(f"{candidate.form.value}{tile}")
    return " + ".join(parts) or Form.AS_IT_CAME.value
