"""Bring an ONNX model to linalg by IREE's importer; change what that refuses."""

from __future__ import annotations

import importlib.util
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from layoutopt.compiler.installed import quirks
from layoutopt.errors import InputError
from layoutopt.frontend.onnx.contents import contents
from layoutopt.runtime.process import Ended, find_tool, run_tool
from layoutopt.runtime.reason import failure_reason
from layoutopt.runtime.to_linalg import not_converted, to_linalg

_APART = "layoutopt.frontend.onnx.apart"
SCOPE = "layoutopt"
"""Of the parameters that stand for weights while these are apart."""
_REFUSED = re.compile(r'"onnx\.(\w+)"')
"""Group 1: the op that a message of the compiler is about."""


@dataclass(frozen=True, slots=True)
class Imported:
    """What was done for a model to be linalg."""

    decomposed: tuple[str, ...]
    """Kinds of op, sorted."""
    restated: tuple[str, ...]
    """Tensors whose shapes the model's ops contradict."""
    files: tuple[str, ...]
    """Those that hold the model's tensors, by their paths relative to it."""


def from_onnx(
    model: Path, linalg: Path, folder: Path, flags: tuple[str, ...], timeout_s: float
) -> Imported:
    """Write a model as linalg.

    IREE names one op that it does not take at a time, so there are as many attempts. Raises
    InputError where something is left that IREE does not bring to linalg.
    """
    path = model
    restated: list[str] = []
    kinds: dict[str, None] = {}
    files: tuple[str, ...] = ()
    while True:
        apart = _imported_apart(model, path, folder, timeout_s)
        imported = apart or _imported(model, path, folder, timeout_s)
        held = contents(path)
        files = files or held.files
        wrong = sorted(held.kinds & quirks().imports_wrong)
        if wrong:
            kind, reason = "", f"{', '.join(wrong)}, which it imports wrong"
        else:
            made = folder / "apart.mlirbc" if apart else linalg
            reason = to_linalg(imported, made, "onnx", flags, timeout_s)
            if apart and not reason:
                _restore(model, path, made, linalg, timeout_s)
            found = _REFUSED.search(reason)
            kind = found[1] if found else ""
        if not reason:
            return Imported(tuple(sorted(kinds)), tuple(restated), files)
        refused = _Refused(model, path, kind, reason)
        path = folder / f"decomposed{len(kinds)}.onnx"
        changed = [] if refused.kind in kinds else refused.decomposed(path, timeout_s)
        kinds |= dict.fromkeys(changed)
        if not changed:
            path = folder / "restated.onnx"
            wrong_shapes = [] if restated else refused.restated(path, timeout_s)
            if not wrong_shapes:
                raise not_converted(model, reason)
            restated = wrong_shapes


@dataclass(frozen=True, slots=True)
class _Refused:
    """A model that IREE does not bring to linalg."""

    model: Path
    path: Path
    """The model, or what was made of it."""
    kind: str
    """The op that IREE names; empty where it names none."""
    reason: str

    def decomposed(self, output: Path, timeout_s: float) -> list[str]:
        """Write it without that op, and without others that are known to be refused.

        Returns the kinds of op that changed.
        """
        if importlib.util.find_spec("onnxscript") is None:
            purpose = f"to decompose {self.kind or 'an op'}, which IREE does not import"
            raise _missing(self.model, "onnxscript", purpose)
        module = "layoutopt.frontend.onnx.decompose"
        files = str(self.path), str(output), str(self.model.parent)
        return self._changed("decomposing it", [module, *files, self.kind], timeout_s)

    def restated(self, output: Path, timeout_s: float) -> list[str]:
        """Write it without shapes that its ops contradict; the names of the tensors."""
        module = "layoutopt.frontend.onnx.restate"
        return self._changed("reading its shapes", [module, str(self.path), str(output)], timeout_s)

    def _changed(self, task: str, command: list[str], timeout_s: float) -> list[str]:
        """What a module that is run by itself says it changed."""
        run = run_tool([sys.executable, "-m", *command], timeout_s)
        if run.ended is not Ended.OK:
            failed = failure_reason(task, run, timeout_s)
            raise not_converted(self.model, f"{self.reason} ({failed})")
        changed: list[str] = json.loads(run.stdout)
        return changed


def _imported_apart(model: Path, path: Path, folder: Path, timeout_s: float) -> Path | None:
    """The import of ``path`` without the contents of its weights.

    None where they are small, and where it does not succeed: the import as a whole says why.
    """
    if importlib.util.find_spec("onnx") is None:
        raise _missing(model, "onnx", "to read ONNX files")
    stripped, imported = folder / "stripped.onnx", folder / "imported.mlir"
    strip = [sys.executable, "-m", _APART, "strip", str(path), str(stripped)]
    run = run_tool(strip, timeout_s)
    fewest = json.loads(run.stdout) if run.ended is Ended.OK else 0
    if not fewest:
        return None
    command = [find_tool("iree-import-onnx"), str(stripped), "-o", str(imported)]
    command += ["--large-model", "--externalize-params", "--no-save-params"]
    command += [f"--params-scope={SCOPE}", f"--num-elements-threshold={fewest}"]
    return imported if run_tool(command, timeout_s).ended is Ended.OK else None


def _restore(model: Path, path: Path, linalg: Path, output: Path, timeout_s: float) -> None:
    """Put the weights of ``path``, or of the files beside the model, back in."""
    files = str(path), str(model.parent), str(linalg), str(output)
    run = run_tool([sys.executable, "-m", _APART, "restore", *files], timeout_s)
    if run.ended is not Ended.OK:
        raise not_converted(model, failure_reason("reading its weights", run, timeout_s))


def _imported(model: Path, path: Path, folder: Path, timeout_s: float) -> Path:
    """IREE's import of ``path``, which is the model or what was made of it."""
    imported = folder / "imported.mlir"
    beside = f"--data-dir={model.parent}"
    command = [find_tool("iree-import-onnx"), str(path), beside, "-o", str(imported)]
    run = run_tool(command, timeout_s)
    if run.ended is not Ended.OK:
        raise InputError(
            str(model),
            "an ONNX file that iree-import-onnx reads",
            failure_reason("iree-import-onnx", run, timeout_s),
            "check the file",
        )
    return imported


def _missing(model: Path, package: str, purpose: str) -> InputError:
    return InputError(
        str(model),
        f"the package '{package}' {purpose}",
        "none installed",
        "run `pip install 'layoutopt[onnx]'`",
    )
