"""Which candidates count where conversions do: contractions packed, moves as ops of their own."""

from __future__ import annotations

from collections.abc import Sequence

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.form import Form
from layoutopt.ir.graph import Graph, Op, Structured
from layoutopt.ir.named import means_mmt4d


def packed_only(
    graph: Graph, clusters: Sequence[Cluster], candidates: Sequence[Candidate]
) -> tuple[Candidate, ...]:
    """The candidates without those that leave a contraction unpacked which can be packed.

    Nor in one pass: what moves inside of it would be no conversion that can be counted.
    """
    packed = [clusters[c.cluster] for c in candidates if c.form.is_packed]
    packable = {t for c in packed for t in (*graph.ops[c.root].outputs, *c.outputs)}

    def stays(candidate: Candidate) -> bool:
        cluster = clusters[candidate.cluster]
        root = graph.ops[cluster.root]
        if candidate.form is Form.ONE_PASS:
            return False
        if cluster.replaced:  # its canonical form may hold a contraction where it holds another sum
            return not any(
                _sums(op) and not _is_mmt4d(op) for op in map(graph.ops.__getitem__, cluster.ops)
            )
        if candidate.form.is_packed:
            return True
        if cluster.atomic:  # it holds contractions, which nothing packs
            return not packable.intersection(cluster.outputs)
        contraction = isinstance(root, Structured) and root.is_contraction
        return not contraction or root.outputs[0] not in packable

    return tuple(filter(stays, candidates))


def _is_mmt4d(op: Op) -> bool:
    """Whether it came over tiles."""
    return isinstance(op, Structured) and means_mmt4d(op)


def _sums(op: Op) -> bool:
    return isinstance(op, Structured) and not op.is_elementwise
