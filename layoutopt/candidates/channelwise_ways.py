"""The ways to write depthwise convolutions and pooling: as they are, with each tile to try."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from layoutopt.candidates.candidate import Candidate, physical_form
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.form import Form
from layoutopt.candidates.matmul_ways import ContractionForms
from layoutopt.candidates.scheduled_channelwise import channelwise_tiles
from layoutopt.ir.graph import Graph
from layoutopt.ir.refusal import Refusal


def channelwise_ways(
    graph: Graph, cluster: Cluster, way: Candidate, forms: ContractionForms
) -> Iterator[Candidate]:
    """A candidate with a schedule for what works on windows of each channel, in its layouts.

    Nothing where the compiler chooses tiles, or where channels do not lie last.
    """
    form = physical_form(graph, cluster, way)
    if forms.registers is None or isinstance(form, Refusal):
        return
    tiles = dict.fromkeys(
        tile
        for op in form.graph.ops
        for tile in channelwise_tiles(op, form.graph.types, forms.registers)
    )
    for tile in tiles:
        shared = replace(tile, threads=forms.threads)
        yield replace(way, form=Form.CHANNELWISE, tile=shared)
