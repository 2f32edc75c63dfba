"""Bring a model, whatever it is written in, to linalg on tensors in one MLIR file."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from layoutopt.errors import InputError
from layoutopt.mlir.module import input_dialect
from layoutopt.runtime.compile import compile_to
from layoutopt.runtime.process import Ended, find_tool, run_tool
from layoutopt.runtime.reason import failure_reason

_SUFFIXES = (".mlir", ".mlirbc", ".onnx")
_INPUT_TYPES = {"vhlo": ("--iree-input-type=stablehlo",)}
"""Where iree-compile 3.13 does not find out by itself: StableHLO as it is kept in files."""


@dataclass(frozen=True, slots=True)
class Source:
    """A model as linalg on tensors."""

    path: Path
    from_input_phase: bool
    """IREE's input conversion has run: compiling goes on from there."""

    @property
    def phase_flags(self) -> tuple[str, ...]:
        """Flags that tell iree-compile where to start."""
        return ("--compile-from=input",) if self.from_input_phase else ()


def open_source(
    model: Path, folder: Path, target_flags: tuple[str, ...], timeout_s: float
) -> Source:
    """The model as linalg; intermediate files go to ``folder``.

    Raises InputError for a file that is missing, of an unknown kind, or that does not convert.
    """
    if not model.is_file():
        raise InputError(str(model), "a model file", "no such file", "check the path")
    if model.suffix not in _SUFFIXES:
        raise InputError(
            str(model),
            f"a file that ends in {', '.join(_SUFFIXES)}",
            f"'{model.suffix}'",
            "export the model to ONNX or MLIR",
        )
    path, dialect = model, "onnx"
    if model.suffix == ".onnx":
        path = _import_onnx(model, folder, timeout_s)
    else:
        dialect = input_dialect(model) or ""
    if not dialect:
        return Source(path, from_input_phase=False)
    linalg = folder / "input.mlir"
    flags = (*target_flags, *_INPUT_TYPES.get(dialect, ()))
    outcome = compile_to(path, "input", linalg, flags, timeout_s)
    if not outcome.ok:
        raise InputError(
            str(model),
            "a model that IREE brings to linalg",
            outcome.reason,
            "try `iree-compile --compile-to=input` on it",
        )
    return Source(linalg, from_input_phase=True)


def _import_onnx(model: Path, folder: Path, timeout_s: float) -> Path:
    if importlib.util.find_spec("onnx") is None:
        raise InputError(
            str(model),
            "the package 'onnx' to read ONNX files",
            "none installed",
            "run `pip install 'layoutopt[onnx]'`",
        )
    imported = folder / "imported.mlir"
    command = [find_tool("iree-import-onnx"), str(model), "-o", str(imported)]
    run = run_tool(command, timeout_s)
    if run.ended is not Ended.OK:
        raise InputError(
            str(model),
            "an ONNX file that iree-import-onnx reads",
            failure_reason("iree-import-onnx", run, timeout_s),
            "check the file",
        )
    return imported
