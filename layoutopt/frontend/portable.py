"""StableHLO as `jax.export` writes it: to what IREE converts.

What it does not: sizes that the model computes, and ops that state more than what they compute.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from layoutopt.compiler.installed import quirks
from layoutopt.errors import InputError
from layoutopt.mlir.parse import MATCHING
from layoutopt.mlir.stablehlo.module import (
    is_plain,
    leaves_sizes_open,
    refine,
    size_names,
)
from layoutopt.mlir.stablehlo.plain import write_plain
from layoutopt.mlir.stablehlo.unproved import UnprovedSize
from layoutopt.runtime.process import find_tool, run_tool
from layoutopt.runtime.reason import failure_reason
from layoutopt.runtime.reread import reread

_AS_PORTABLE = "vhlo"
"""Of a module that was rewritten: IREE is told that it is StableHLO, for it holds other ops too."""
_NEXT_STEP = "state it in the model, as constraints of the symbolic sizes do, or give the size"


@dataclass(frozen=True, slots=True)
class Portable:
    """A module of StableHLO that IREE converts."""

    path: Path
    dialect: str
    size_names: Mapping[str, str] = field(default_factory=dict)
    """By open size (``arg0.1``), what the model calls it."""


def portable(model: Path, module: Path, folder: Path, dialect: str, timeout_s: float) -> Portable:
    """A module that IREE converts: the model itself unless it holds what IREE does not convert.

    ``module``: the model as it was read again. Raises InputError where something that an op needs
    to know of sizes does not follow from the model.
    """
    is_open, plain = leaves_sizes_open(module), is_plain(module)
    if plain and not is_open:
        return Portable(model, dialect)
    if dialect == "vhlo":
        module = _without_versions(model, module, folder, timeout_s)
    if not plain:
        given, module = module, folder / "plain.mlirbc"
        write_plain(given, module)
    names = size_names(module) if is_open else {}
    if is_open:
        module = _refined(model, module, folder)
    return Portable(module, _AS_PORTABLE, names)


def _refined(model: Path, module: Path, folder: Path) -> Path:
    """The module with sizes in place of what computes them."""
    inlined = folder / "inlined.mlirbc"
    reread(module, inlined, MATCHING, passes=(quirks().flags.inline,))
    made = folder / "refined.mlirbc"
    try:
        refine(inlined, made)
    except UnprovedSize as error:
        place = error.place or str(model)
        raise InputError(place, error.expected, error.got, _NEXT_STEP) from error
    return made


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
