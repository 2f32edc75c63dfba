"""How a cluster is written, beside its layouts: mostly, how its contractions are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

from layoutopt.candidates.byte_panels import with_byte_panels
from layoutopt.candidates.chosen_parts import with_parts_in_one_tile
from layoutopt.candidates.matmul_form import with_matmuls
from layoutopt.candidates.one_pass import in_one_pass
from layoutopt.candidates.packing.packed_form import with_mmt4d
from layoutopt.candidates.reductions_in_lanes import in_lanes
from layoutopt.candidates.scheduled import with_schedule
from layoutopt.candidates.scheduled_channelwise import with_channelwise_schedules
from layoutopt.candidates.scheduled_convolution import with_direct_convolutions
from layoutopt.candidates.scheduled_elementwise import with_elementwise_schedule
from layoutopt.candidates.scheduled_packed import with_packed_schedules
from layoutopt.candidates.scheduled_rows import with_rows
from layoutopt.candidates.scheduled_windows import with_windows
from layoutopt.candidates.scheduled_workgroups import with_workgroups
from layoutopt.candidates.unsigned import with_unsigned_bytes
from layoutopt.candidates.window_slices import with_slices_of_windows
from layoutopt.ir.graph import Graph, Op, Structured
from layoutopt.ir.refusal import Refusal
from layoutopt.ir.schedule import RowTile, Tile, VectorTile, WorkgroupTile

NO_WEIGHTS: Mapping[int, str | None] = {}


class Form(Enum):
    """One way to write a cluster; its value names it in reports and in plan files."""

    AS_IT_CAME = "as it came"
    AS_MATMUL = "as matmul"
    """As the smallest contraction that hides in it, mostly a matmul."""
    DATA_TILED = "data-tiled"
    """As matmul, with the attribute that asks IREE for data tiling."""
    DATA_TILED_UNSIGNED = "data-tiled, unsigned"
    """The same of signed bytes, one factor of which is read as unsigned."""
    PACKED = "packed"
    """Over tiles, as ``linalg.mmt4d`` or ``linalg.batch_mmt4d``."""
    PACKED_GENERALIZED = "packed, generalized"
    """Over tiles, as ``linalg.generic``."""
    PACKED_SCHEDULED = "packed, scheduled"
    """The same with a tile of registers that is said to the compiler."""
    SCHEDULED = "as matmul, scheduled"
    """As matmul, with a tile of registers that is said to the compiler."""
    WORKGROUPS = "as matmul, workgroups of"
    """As matmul, with the tile of a GPU's workgroup that is said to the compiler."""
    PANELS = "weights in panels"
    """The same over weights that lie in panels of a vector, several of which are in a tile."""
    BYTE_PANELS = "weights in panels, bytes"
    """The same of signed bytes, by an instruction that reads one factor as unsigned."""
    DIRECT = "direct, filters in panels"
    """A convolution as it is, with such a tile and such filters."""
    CHANNELWISE = "direct, channels side by side"
    """A depthwise convolution or pooling as it is, with such a tile."""
    ELEMENTWISE = "elementwise, scheduled"
    """No contraction: one op, with a tile of its rows that is said to the compiler."""
    WINDOWS = "direct, workgroups of"
    """A convolution as it is, with the tile of a GPU's workgroup that is said to the compiler."""
    ROWS = "rows by"
    """No contraction: rows that are reduced, each shared by the lanes of a GPU's workgroup."""
    LANES = "reduced in lanes"
    """No contraction: reductions of neighbours, each in the lanes of vectors first."""
    ONE_PASS = "in one pass"
    """No contraction: each result by one op that works out where what it is made of lies."""

    @property
    def is_packed(self) -> bool:
        """Whether contractions run over tiles."""
        return self in (Form.PACKED, Form.PACKED_GENERALIZED, Form.PACKED_SCHEDULED)

    @property
    def is_scheduled(self) -> bool:
        """Whether loops have a tile that is said to the compiler."""
        return self in (
            Form.SCHEDULED,
            Form.WORKGROUPS,
            Form.PANELS,
            Form.BYTE_PANELS,
            Form.DIRECT,
            Form.CHANNELWISE,
            Form.ELEMENTWISE,
            Form.WINDOWS,
            Form.ROWS,
            Form.PACKED_SCHEDULED,
        )

    @property
    def is_data_tiled(self) -> bool:
        """Whether contractions ask IREE for data tiling."""
        return self in (Form.DATA_TILED, Form.DATA_TILED_UNSIGNED)

    def write(
        self, graph: Graph, tile: Tile | None, weights: Mapping[int, str | None] = NO_WEIGHTS
    ) -> Graph | Refusal:
        """The graph in this form.

        ``tile``: where its contractions are scheduled. ``weights``: inputs that are constants, with
        the value of those that have one alone.
        """
        if self in (Form.WORKGROUPS, Form.WINDOWS):
            assert isinstance(tile, WorkgroupTile), "a schedule says its tile"
            if self is Form.WINDOWS:
                return with_windows(graph, tile)
            return with_workgroups(with_matmuls(graph), tile)
        if self is Form.ROWS:
            assert isinstance(tile, RowTile), "a schedule says its tile"
            return with_rows(graph, tile, {t: v for t, v in weights.items() if v is not None})
        if self.is_scheduled:
            assert isinstance(tile, VectorTile), "a schedule says its tile"
            return self._scheduled(graph, tile, weights)
        match self:
            case Form.AS_IT_CAME:
                return graph
            case Form.AS_MATMUL:
                return with_matmuls(graph)
            case Form.DATA_TILED:
                return _marked(with_matmuls(graph), data_tiled=True)
            case Form.DATA_TILED_UNSIGNED:
                return with_unsigned_bytes(with_matmuls(graph), weights)
            case Form.PACKED:
                return with_mmt4d(with_matmuls(graph))
            case Form.PACKED_GENERALIZED:
                return _marked(with_matmuls(graph, rows_apart=True), generalized=True)
            case Form.LANES:
                return in_lanes(graph)
            case Form.ONE_PASS:
                windows = with_slices_of_windows(graph)
                return in_one_pass(graph) if isinstance(windows, Refusal) else windows
        raise AssertionError(f"a form that is not written: {self}")

    def _scheduled(
        self, graph: Graph, tile: VectorTile, weights: Mapping[int, str | None]
    ) -> Graph | Refusal:
        match self:
            case Form.BYTE_PANELS:
                return with_byte_panels(graph, tile, weights)
            case Form.PACKED_SCHEDULED:
                return with_packed_schedules(with_matmuls(graph, rows_apart=True), tile)
            case Form.DIRECT:
                return with_direct_convolutions(graph, tile)
            case Form.CHANNELWISE:
                return with_channelwise_schedules(graph, tile)
            case Form.ELEMENTWISE:
                return with_elementwise_schedule(graph, tile)
        return with_parts_in_one_tile(with_schedule(with_matmuls(graph), tile), tile)


def _marked(graph: Graph, data_tiled: bool = False, generalized: bool = False) -> Graph:
    def marked(op: Op) -> Op:
        if not isinstance(op, Structured) or not op.is_contraction:
            return op
        return replace(
            op,
            data_tiled=data_tiled or op.data_tiled,
            generalized=generalized or op.generalized,
        )

    return replace(graph, ops=tuple(map(marked, graph.ops)))
