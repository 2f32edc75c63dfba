"""StableHLO that computes its sizes, as `jax.export` writes it: to what IREE converts."""

from __future__ import annotations

from pathlib import Path

from layoutopt.compiler.installed import quirks
from layoutopt.errors import InputError
from layoutopt.mlir.module import MATCHING
from layoutopt.mlir.stablehlo.module import refine, size_names
from layoutopt.mlir.stablehlo.unproved import UnprovedSize
from layoutopt.runtime.process import find_tool, run_tool
from layoutopt.runtime.reason import failure_reason
from layoutopt.runtime.reread import reread

_NEXT_STEP = "state it in the model, as constraints of the symbolic sizes do, or give the size"


def refined(
    model: Path, module: Path, folder: Path, dialect: str, timeout_s: float
) -> tuple[Path, dict[str, str]]:
    """A module that IREE converts, and by open size what the model calls it.

    ``module``: the model as it was read again. Raises InputError where something that an op needs
    to know of sizes does not follow from the model.
    """
    if dialect == "vhlo":
        module = _without_versions(model, module, folder, timeout_s)
    names = size_names(module)
    inlined = folder / "inlined.mlirbc"
    reread(module, inlined, MATCHING, timeout_s, (quirks().flags.inline,))
    made = folder / "refined.mlirbc"
    try:
        refine(inlined, made)
    except UnprovedSize as error:
        place = error.place or str(model)
        raise InputError(place, error.expected, error.got, _NEXT_STEP) from error
    return made, names


def _without_versions(model: Path, module: Path, folder: Path, timeout_s: float) -> Path:
    """The StableHLO of a portable artifact."""
    written = folder / "stablehlo"
    *flags, into = quirks().flags.before_stablehlo
    command = [
        *(find_tool("iree-compile"), str(module), *quirks().flags.input_types["vhlo"], *flags),
        *(f"{into}{written}", f"{quirks().flags.to_phase}input", "-o", str(folder / "unused")),
    ]
    run = run_tool(command, timeout_s)  # it may well fail behind what is asked for
    found = sorted(written.rglob("*.mlir"), key=lambda path: path.stat().st_mtime_ns)
    if not found:
        reason = failure_reason("iree-compile", run, timeout_s) or "no StableHLO"
        raise InputError(str(model), "a portable artifact that IREE reads", reason, MATCHING)
    return found[0]
