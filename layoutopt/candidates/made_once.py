"""Ops that several choices have of the same tensors: IREE finds them equal, and computes them once.

Sums of parts of an input that several contractions read (Strassen's), or the transform of an image
that several convolutions read (Winograd's), have one price in each candidate, and one dispatch.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from layoutopt.candidates.candidate import Candidate, physical_form
from layoutopt.candidates.cluster import Cluster
from layoutopt.ir.graph import Graph, Op, tensors_made
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.renaming import renumbered


def made_before(
    graph: Graph, clusters: Sequence[Cluster], chosen: Iterable[Candidate]
) -> dict[Candidate, tuple[Op, ...]]:
    """Of each choice the ops that a choice ahead of it has as well, as its form writes them."""
    values: dict[Hashable, int] = {}
    found: dict[Candidate, tuple[Op, ...]] = {}

    def number_of(key: Hashable) -> int:
        return values.setdefault(key, len(values))

    for candidate in chosen:
        cluster = clusters[candidate.cluster]
        form = physical_form(graph, cluster, candidate)
        if isinstance(form, Refusal):  # a choice has a form
            continue
        layouts = dict(candidate.layouts)
        read = (*cluster.inputs, *cluster.weights)
        number = {
            local: number_of((tensor, layouts[tensor]))
            for local, tensor in zip((*form.inputs, *form.weights), read, strict=True)
        }
        again = []
        for op in form.graph.ops:
            made = tensors_made(op)
            places = {t: -1 - place for place, t in enumerate(made)}
            key = renumbered(op, number | places)
            if (key, 0) in values:
                again.append(op)
            number |= {t: number_of((key, place)) for place, t in enumerate(made)}
        found[candidate] = tuple(again)
    return found
