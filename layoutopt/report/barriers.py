"""What no plan reaches: ops that the graph does not see through, and branches."""

from __future__ import annotations

from collections.abc import Iterator

from layoutopt.ir.graph import Opaque
from layoutopt.mlir.module import Module, exported_name, has_work
from layoutopt.report.report import RefusalReport

_BOUNDARY = ("hal.",)
_SCALARS = ("arith.", "index.", "cf.assert", "util.assume.int")
_PLUMBING = (*_BOUNDARY, "util.")
"""How IREE hands tensors over, and in functions without work how it calls the others."""


def barriers(module: Module) -> Iterator[RefusalReport]:
    """One row per op or function that stays as it is, with the reason."""
    for name, graph in zip(module.names, module.graphs, strict=True):
        silent = _BOUNDARY if has_work(graph) else _PLUMBING
        for op in graph.ops:
            if isinstance(op, Opaque) and not op.name.startswith(silent) and not _of_scalars(op):
                yield RefusalReport(exported_name(name), op.name, "barrier", op.reason)
    for name, count in module.branching:
        reason = f"expected a function of one block, but got {count}: each is planned alone"
        yield RefusalReport(exported_name(name), name, "barrier", reason)


def _of_scalars(op: Opaque) -> bool:
    """Whether an op computes or states something of sizes, and no tensor goes through it."""
    return op.name.startswith(_SCALARS) and not op.sources and not op.results
