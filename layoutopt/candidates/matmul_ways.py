"""The ways to write contractions as matmuls: plain, data-tiled, scheduled, weights in panels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from layoutopt.candidates.byte_panels import byte_layouts, byte_tiles
from layoutopt.candidates.candidate import Candidate, PhysicalForm, physical_form
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.form import Form
from layoutopt.candidates.scheduled import (
    panel_columns,
    panel_layout,
    panel_tiles,
    vector_tiles,
)
from layoutopt.candidates.scheduled_workgroups import workgroup_tiles
from layoutopt.candidates.unsigned import multiplies_bytes
from layoutopt.candidates.whole_panels import in_whole_panels
from layoutopt.compiler.gpu import GpuUnits
from layoutopt.compiler.installed import quirks
from layoutopt.compiler.processor import VectorRegisters
from layoutopt.ir.graph import FromTensor, Graph, Op, Structured
from layoutopt.ir.layout import Layout
from layoutopt.ir.named import named_op
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.roles import is_windowed
from layoutopt.ir.schedule import VectorTile, WorkgroupTile
from layoutopt.ir.size import Size
from layoutopt.ir.types import TensorType

_TilesOf = Callable[[Structured, tuple[TensorType, ...], VectorRegisters], tuple[VectorTile, ...]]


@dataclass(frozen=True, slots=True)
class ContractionForms:
    """What contractions may be written as, beside layouts."""

    data_tiling: bool = False
    """Whether the target knows per-op data tiling."""
    unsigned: bool = False
    """Whether that is for products of unsigned bytes by signed ones, and for nothing else."""
    registers: VectorRegisters | None = None
    """What tiles are chosen by; None where the compiler chooses all of them."""
    gpu: GpuUnits | None = None
    """What tiles of workgroups are chosen by; None for a processor, and where nothing tells which
    tile is faster."""
    rows: GpuUnits | None = None
    """The same for rows that are reduced, which gain more than estimates are off by."""
    bytes_in_panels: bool = False
    """Whether an instruction multiplies unsigned bytes by signed ones."""
    threads: int = 1
    """Threads that workgroups are shared among; compute units of a GPU."""

    @property
    def columns(self) -> int | None:
        """Of a panel of weights; None where there are none."""
        return None if self.registers is None else panel_columns(self.registers)


def matmul_ways(
    graph: Graph, cluster: Cluster, way: Candidate, forms: ContractionForms
) -> Iterator[Candidate | Refusal]:
    """The contractions of a candidate as matmuls, in the same layouts."""
    matmul = replace(way, form=Form.AS_MATMUL)
    form = physical_form(graph, cluster, matmul)
    if isinstance(form, Refusal):
        yield form
        return
    yield matmul
    tiled = [op for op in form.graph.ops if forms.data_tiling and _is_tileable(op)]
    if tiled and not forms.unsigned:
        yield replace(way, form=Form.DATA_TILED)
    if forms.unsigned and tiled and all(multiplies_bytes(op, form.graph) for op in tiled):
        yield replace(way, form=Form.DATA_TILED_UNSIGNED)
    for tile in _tiles(form, forms):
        yield replace(way, form=Form.SCHEDULED, tile=tile)
    for group in _workgroup_tiles(form, forms):
        yield replace(way, form=Form.WORKGROUPS, tile=group)


def panel_ways(
    graph: Graph, cluster: Cluster, way: Candidate, forms: ContractionForms
) -> Iterator[Candidate | Refusal]:
    """A candidate whose weights lie in panels, with each tile."""
    form = physical_form(graph, cluster, replace(way, form=Form.AS_MATMUL))
    if isinstance(form, Refusal):
        yield form
        return
    for tile in _tiles(form, forms, panel_tiles):
        yield replace(way, form=Form.PANELS, tile=tile)
    for tile in _tiles(form, forms, byte_tiles) if forms.bytes_in_panels else ():
        found = replace(way, form=Form.BYTE_PANELS, tile=tile)
        refusal = physical_form(graph, cluster, found)
        yield refusal if isinstance(refusal, Refusal) else found


def in_panels(
    graph: Graph,
    contractions: Sequence[Structured],
    start: Mapping[int, Layout],
    forms: ContractionForms,
) -> dict[int, Layout] | None:
    """Layouts around contractions with all weights in panels; None where some do not suit.

    Results have columns of padding where no panel divides them.
    """
    columns = forms.columns
    if columns is None:
        return None
    found = dict(start)
    for op in contractions:
        rhs, result = op.sources[1], op.results[0]
        if rhs not in graph.constants:
            return None
        made = start[result]
        whole = in_whole_panels(op, graph.types[result].element, made, columns)
        if whole is not None:
            found |= dict.fromkeys((result, *_started_from(op)), whole)
        around = start[op.sources[0]], made
        weights = panel_layout(op, graph.types[rhs], around, columns, padded=whole is not None)
        if weights is None:
            return None
        found[rhs] = weights
    return found


def bytes_in_panels(
    graph: Graph, op: Structured, start: Mapping[int, Layout], forms: ContractionForms
) -> dict[int, Layout] | None:
    """Layouts around a contraction of bytes with its weights in panels of these; None elsewhere."""
    if forms.registers is None or not forms.bytes_in_panels:
        return None
    if op.sources[1] not in graph.constants:
        return None
    return byte_layouts(op, graph.types, start, forms.registers)


def _started_from(op: Structured) -> list[int]:
    return [init.tensor for init in op.inits if isinstance(init, FromTensor)]


def _tiles(
    form: PhysicalForm, forms: ContractionForms, tiles_of: _TilesOf = vector_tiles
) -> list[VectorTile]:
    """The tiles of registers to try for all contractions of a form."""
    if forms.registers is None:
        return []
    types = form.graph.types
    found = [tiles_of(op, types, forms.registers) for op in _contractions(form)]
    tiles = sorted(set(found[0]).intersection(*found[1:])) if found else []
    return [replace(tile, threads=forms.threads) for tile in tiles]


def _workgroup_tiles(form: PhysicalForm, forms: ContractionForms) -> list[WorkgroupTile]:
    """The tiles of workgroups to try; of forms with several contractions only what suits all."""
    if forms.gpu is None:
        return []
    types = form.graph.types
    found = [workgroup_tiles(op, types, forms.gpu, forms.threads) for op in _contractions(form)]
    return sorted(set(found[0]).intersection(*found[1:])) if found else []


def _contractions(form: PhysicalForm) -> list[Structured]:
    return [op for op in form.graph.ops if isinstance(op, Structured) and op.is_contraction]


def _is_tileable(op: Op) -> bool:
    """Whether IREE data-tiles the op: matmul and its kin."""
    if not isinstance(op, Structured) or not op.is_contraction or is_windowed(op):
        return False
    named = named_op(op)
    if named is None or named.name not in ("matmul", "batch_matmul", "matvec", "vecmat"):
        return False
    is_open = any(isinstance(n, Size) for n in op.domain)
    return named.name != "batch_matmul" or not is_open or quirks().limits.tiles_open_batches
