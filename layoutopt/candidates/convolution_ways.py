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
from layoutopt.candidates.scheduled_convolution import convolution_tile, filter_columns
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
    found: list[Candidate] = []
    registers = forms.registers
    for columns in () if registers is None else filter_columns(registers):
        layouts = in_panels(graph, [root], start, columns, forms)
        if layouts is None or registers is None or not sets.allow(layouts, root.results):
            continue
        way = follow(graph, index, cluster, layouts, cluster.beside_root)
        if isinstance(way, Refusal):
            yield way
            continue
        form = physical_form(graph, cluster, way)
        if isinstance(form, Refusal):
            yield form
            continue
        tile = _tile(form, registers)
        if tile is not None and tile.columns == columns:
            shared = replace(tile, threads=forms.threads)
            found.append(replace(way, form=Form.DIRECT, tile=shared))
    yield from sorted(found, key=_held, reverse=True)[:_TILES]


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


def _tile(form: PhysicalForm, registers: VectorRegisters) -> VectorTile | None:
    tiles = (convolution_tile(op, form.graph.types, registers) for op in form.graph.ops)
    return next((tile for tile in tiles if tile is not None), None)


def _held(candidate: Candidate) -> tuple[int, int]:
    """How many sums the registers hold; the wider of two tiles first."""
    tile = candidate.tile
    return (tile.rows * tile.columns, tile.columns) if isinstance(tile, VectorTile) else (0, 0)
