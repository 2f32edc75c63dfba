"""Open a model: linalg on tensors in one file, made once from whatever it is written in."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from layoutopt.compiler.installed import quirks
from layoutopt.errors import InputError
from layoutopt.files.given import check_file
from layoutopt.frontend.converted import ConvertedModel, ConvertedModels, digest_of
from layoutopt.frontend.onnx.importer import from_onnx
from layoutopt.frontend.portable import portable
from layoutopt.mlir.module import Module, parse_for_planning
from layoutopt.mlir.parse import MATCHING, input_dialect
from layoutopt.mlir.stablehlo.module import STABLEHLO
from layoutopt.runtime.compile import Phase
from layoutopt.runtime.reread import reread
from layoutopt.runtime.to_linalg import not_converted, to_linalg
from layoutopt.runtime.version import iree_version

_SUFFIXES = (".mlir", ".mlirbc", ".onnx")
_FORMAT = 8
"""To be raised where entries of the cache are made in another way than before."""


@dataclass(frozen=True, slots=True)
class Source:
    """A model as linalg on tensors."""

    path: Path
    from_input_phase: bool
    """IREE's input conversion has run: compiling goes on from there."""
    size_names: Mapping[str, str] = field(default_factory=dict)
    """By open size (``arg0.1``), what the model calls it where the conversion would lose that."""
    decomposed: tuple[str, ...] = ()
    """Kinds of op that IREE does not import; they stand as the ops that they are made of."""
    restated: tuple[str, ...] = ()
    """Tensors whose stated shapes the model's ops contradict; they have those that follow."""

    @property
    def phase_flags(self) -> tuple[str, ...]:
        """Flags that tell iree-compile where to start."""
        return (f"{quirks().flags.from_phase}{Phase.INPUT}",) if self.from_input_phase else ()


def open_source(
    model: Path,
    folder: Path,
    target_flags: tuple[str, ...],
    timeout_s: float,
    converted: ConvertedModels,
) -> tuple[Source, Module]:
    """The model as linalg, parsed; intermediate files go to ``folder``.

    Raises InputError for a file that is missing, of an unknown kind, or that does not convert.
    """
    check_file(model, "a model file")
    if model.suffix not in _SUFFIXES:
        raise InputError(
            str(model),
            f"a file that ends in {', '.join(_SUFFIXES)}",
            f"'{model.suffix}'",
            "export the model to ONNX or MLIR",
        )
    key = _key(model, target_flags)
    linalg = folder / "input.mlirbc"
    entry = converted.find(key, model.parent, linalg)
    if entry is not None:
        return _source(linalg, entry), parse_for_planning(linalg, model)
    external: dict[str, str] = {}
    names: Mapping[str, str] = {}
    changes: tuple[tuple[str, ...], tuple[str, ...]] = (), ()
    dialect = "onnx"
    if model.suffix == ".onnx":
        imported = from_onnx(model, linalg, folder, target_flags, timeout_s)
        changes = imported.decomposed, imported.restated
        external = {name: digest_of(model.parent / name) for name in imported.files}
    else:
        reread(model, linalg, MATCHING, timeout_s)
        path, dialect = model, input_dialect(linalg) or ""
        if dialect in STABLEHLO:
            plain = portable(model, linalg, folder, dialect, timeout_s)
            path, dialect, names = plain.path, plain.dialect, plain.size_names
        if dialect and (reason := to_linalg(path, linalg, dialect, target_flags, timeout_s)):
            raise not_converted(model, reason)
    module = parse_for_planning(linalg, model)
    made = digest_of(linalg), linalg.stat().st_size
    kept = ConvertedModel(*made, bool(dialect), iree_version(), external, names, *changes)
    converted.keep(key, linalg, kept)
    return _source(linalg, kept), module


def _source(linalg: Path, known: ConvertedModel) -> Source:
    return Source(
        linalg, known.from_input_phase, known.size_names, known.decomposed, known.restated
    )


def _key(model: Path, target_flags: tuple[str, ...]) -> str:
    """What tells one conversion from another: the file by content, who converts, and how."""
    tools = iree_version(), *map(_version, ("onnx", "onnxscript"))
    facts = (_FORMAT, model.suffix, digest_of(model), tools, target_flags)
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
