"""The ways to write convolutions as they are: filters in panels, with each tile of registers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from layoutopt.candidates.candidate import (
    Candidate,
    PhysicalForm,
    follow,
    physical_form,
)
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.form import Form
from layoutopt.candidates.matmul_ways import ContractionForms, in_panels
from layoutopt.candidates.scheduled_convolution import convolution_tiles
from layoutopt.candidates.scheduled_windows import window_tiles
from layoutopt.candidates.space import LayoutSets
from layoutopt.compiler.processor import VectorRegisters
from layoutopt.ir.graph import Graph, Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.schedule import VectorTile

_TILES = 2
"""Tiles that are tried for one convolution: those that hold most."""


def convolution_ways(
    graph: Graph,
    index: int,
    cluster: Cluster,
    start: Mapping[int, Layout],
    sets: LayoutSets,
    forms: ContractionForms,
) -> Iterator[Candidate | Refusal]:
    """The convolution of a cluster with its filters in panels.

    ``start``: the layouts around it, of those in ``sets``. Nothing where the compiler chooses
    tiles, or where the channels do not lie last.
    """
    root = graph.ops[cluster.root]
    assert isinstance(root, Structured)
    layouts = in_panels(graph, [root], start, forms)
    registers = forms.registers
    if layouts is None or registers is None or not sets.allow(layouts, root.results):
        return
    way = follow(graph, index, cluster, layouts, cluster.beside_root)
    if isinstance(way, Refusal):
        yield way
        return
    form = physical_form(graph, cluster, way)
    if isinstance(form, Refusal):
        yield form
        return
    shared = [replace(tile, threads=forms.threads) for tile in _tiles(form, registers)]
    for tile in sorted(shared, key=_held, reverse=True)[:_TILES]:
        yield replace(way, form=Form.DIRECT, tile=tile)


def window_ways(
    graph: Graph, cluster: Cluster, way: Candidate, forms: ContractionForms
) -> Iterator[Candidate]:
    """The convolution of a candidate in the same layouts, with tiles of workgroups."""
    form = physical_form(graph, cluster, way)
    if forms.gpu is None or isinstance(form, Refusal):
        return
    for op in form.graph.ops:
        for tile in window_tiles(op, form.graph.types, forms.gpu, forms.threads):
            yield replace(way, form=Form.WINDOWS, tile=tile)


def _tiles(form: PhysicalForm, registers: VectorRegisters) -> list[VectorTile]:
    """Those of the first convolution that some suit."""
    tiles = ([*convolution_tiles(op, form.graph.types, registers)] for op in form.graph.ops)
    return next(filter(None, tiles), [])


def _held(tile: VectorTile) -> tuple[int, int]:
    """How many sums the registers hold; the wider of two tiles first."""
    return tile.rows * tile.columns * tile.panels, tile.panels
