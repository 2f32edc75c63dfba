"""Dispatches that IREE would not form by itself: a pad with what reads it through windows.

    pad -> memory -> convolution      ->      one dispatch that pads tile by tile

IREE makes a pad a dispatch of its own, often a slow copy. Written inside one
``flow.dispatch.region`` with a depthwise convolution, a pooling or a copy of windows behind it, it
never reaches memory. That is several times faster for some shapes and slower for others, and some
do not compile; so it is one more cluster, with a price of its own. Convolutions that sum over
channels are left out: they compute for much longer than a pad takes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from layoutopt.candidates.candidate import Candidate, PhysicalForm, physical_form
from layoutopt.candidates.cluster import Cluster, cluster_of
from layoutopt.ir.graph import DispatchRegion, Graph, Pad, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.renaming import renumbered
from layoutopt.ir.roles import is_windowed, roles


def padded_regions(graph: Graph, clusters: Sequence[Cluster]) -> Iterator[Cluster]:
    """The clusters that read a padded tensor through windows, with the pad inside."""
    for cluster in clusters:
        root = graph.ops[cluster.root]
        if cluster.atomic or not isinstance(root, Structured) or not is_windowed(root):
            continue
        if root.is_contraction and roles(root).k:
            continue
        makers = graph.producers[root.sources[0]]
        pads = [i for i in makers if isinstance(graph.ops[i], Pad) and i not in cluster.ops]
        for pad in pads if root.sources[0] not in graph.constants else ():
            whole = cluster_of(graph, (pad, *cluster.ops))
            yield replace(whole, root=cluster.root, outputs=cluster.outputs, region=True)


def is_refused(graph: Graph, cluster: Cluster, way: Candidate) -> bool:
    """Whether a dispatch with a pad inside is known not to compile for a CPU with vectors.

    A copy or a depthwise convolution whose innermost loop runs along what is padded, so that
    vectors would have to be padded; a convolution with a schedule, and a pooling with one that
    holds several pixels. Of 114 dispatches with a pad inside (IREE 3.13; SqueezeNet, MobileNetV2,
    Inception v2) 73 compiled neither for AVX2 nor for AVX-512, nearly all of these.
    """
    form = physical_form(graph, cluster, way)
    if isinstance(form, Refusal):
        return False
    makers = {op.result: op for op in form.graph.ops if isinstance(op, Pad)}
    for op in form.graph.ops:
        if not isinstance(op, Structured):
            continue
        vector = () if op.schedule is None else op.schedule.vector
        if vector and (op.is_contraction or sum(size > 1 for size in vector) > 1):
            return True
        if not (op.is_contraction or op.is_copy):
            continue
        pad = makers.get(op.sources[0])
        innermost = op.result_maps[0][-1].plain_dim
        if pad is not None and any(
            innermost in index.dims and (low or high)
            for index, low, high in zip(op.source_maps[0], pad.low, pad.high, strict=True)
        ):
            return True
    return False


def emitted(form: PhysicalForm) -> Graph:
    """The ops of a form as they are written: in one dispatch region where it asks for that."""
    graph = form.graph
    if not form.region:
        return graph
    first = len(graph.types)
    inner = {t: first + i for i, t in enumerate(form.outputs)}
    number = {t: inner.get(t, t) for t in range(first)}
    ops = tuple(renumbered(op, number) for op in graph.ops)
    region = DispatchRegion(ops, tuple(inner.values()), form.outputs)
    types = (*graph.types, *(graph.types[t] for t in form.outputs))
    return replace(graph, types=types, ops=(region,), names=())
