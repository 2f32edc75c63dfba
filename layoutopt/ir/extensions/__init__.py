"""The extensions: the table of their kinds."""

from __future__ import annotations

from importlib.metadata import entry_points

from layoutopt.ir.extension import Extension
from layoutopt.ir.extensions.arg_compare import ArgCompare
from layoutopt.ir.extensions.attention import Attention
from layoutopt.ir.extensions.computed_reads import ComputedReads
from layoutopt.ir.extensions.fft import Fft
from layoutopt.ir.extensions.gather_by_index import GatherByIndex
from layoutopt.ir.extensions.iree_winograd_filter import IreeWinogradFilter
from layoutopt.ir.extensions.iree_winograd_input import IreeWinogradInput
from layoutopt.ir.extensions.iree_winograd_output import IreeWinogradOutput
from layoutopt.ir.extensions.scan import Scan
from layoutopt.ir.extensions.scatter_by_index import ScatterByIndex
from layoutopt.ir.extensions.softmax import Softmax
from layoutopt.ir.extensions.sort import Sort
from layoutopt.ir.extensions.topk import TopK

EXTENSIONS: tuple[type[Extension], ...] = (
    Softmax,
    Scan,
    Attention,
    Sort,
    TopK,
    ArgCompare,
    ScatterByIndex,
    GatherByIndex,
    Fft,
    IreeWinogradFilter,
    IreeWinogradInput,
    IreeWinogradOutput,
    ComputedReads,
)
"""Those that layoutopt has."""


def extensions() -> dict[str, type[Extension]]:
    """All kinds by the name of their op, those of installed packages included.

    A package names its class under ``[project.entry-points."layoutopt.ops"]``.
    """
    known = {kind.mlir_name: kind for kind in EXTENSIONS}
    for entry in entry_points(group="layoutopt.ops"):
        kind = entry.load()
        known[kind.mlir_name] = kind
    return known
