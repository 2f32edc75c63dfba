"""Bring a model of any source dialect to linalg on tensors in one MLIR file."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from layoutopt.compiler.installed import quirks
from layoutopt.errors import InputError
from layoutopt.files.given import check_file
from layoutopt.frontend.computed_sizes import refined
from layoutopt.frontend.converted import ConvertedModel, ConvertedModels, digest_of
from layoutopt.mlir.module import MATCHING, Module, input_dialect, parse_module
from layoutopt.mlir.stablehlo.module import STABLEHLO, leaves_sizes_open
from layoutopt.runtime.compile import Phase, compile_to
from layoutopt.runtime.process import Ended, find_tool, run_tool
from layoutopt.runtime.reason import failure_reason
from layoutopt.runtime.reread import reread
from layoutopt.runtime.version import iree_version

_SUFFIXES = (".mlir", ".mlirbc", ".onnx")
_FORMAT = 5
"""To be raised where entries of the cache are made in another way than before."""


@dataclass(frozen=True, slots=True)
class Source:
    """A model as linalg on tensors."""

    path: Path
    from_input_phase: bool
    """IREE's input conversion has run: compiling goes on from there."""
    size_names: Mapping[str, str] = field(default_factory=dict)
    """By open size (``arg0.1``), what the model calls it where the conversion would lose that."""

    @property
    def phase_flags(self) -> tuple[str, ...]:
        """Flags that tell iree-compile where to start."""
        return (quirks().flags.from_input,) if self.from_input_phase else ()


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
        source = Source(linalg, entry.from_input_phase, entry.size_names)
        return source, parse_module(linalg, model)
    external: dict[str, str] = {}
    names: dict[str, str] = {}
    path, dialect = model, "onnx"
    if model.suffix == ".onnx":
        path = _import_onnx(model, folder, timeout_s)
        external = {name: digest_of(model.parent / name) for name in _external_files(model)}
    else:
        reread(model, linalg, MATCHING, timeout_s)
        dialect = input_dialect(linalg) or ""
        if dialect in STABLEHLO and leaves_sizes_open(linalg):
            path, names = refined(model, linalg, folder, dialect, timeout_s)
            dialect = "vhlo"
    if dialect:
        flags = (*target_flags, *quirks().flags.input_types.get(dialect, ()))
        _convert(model, path, linalg, flags, timeout_s)
    module = parse_module(linalg, model)
    made = digest_of(linalg), linalg.stat().st_size
    kept = ConvertedModel(*made, bool(dialect), iree_version(), external, names)
    converted.keep(key, linalg, kept)
    return Source(linalg, bool(dialect), names), module


def _key(model: Path, target_flags: tuple[str, ...]) -> str:
    """What tells one conversion from another: the file by content, who converts, and how."""
    facts = (_FORMAT, model.suffix, digest_of(model), iree_version(), _onnx_version(), target_flags)
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _onnx_version() -> str:
    try:
        return version("onnx")
    except PackageNotFoundError:
        return ""


def _convert(
    model: Path, path: Path, linalg: Path, flags: tuple[str, ...], timeout_s: float
) -> None:
    flags = (*flags, "--emit-mlir-bytecode")
    outcome = compile_to(path, Phase.INPUT, linalg, flags, timeout_s)
    if not outcome.ok:
        raise InputError(
            str(model),
            "a model that IREE brings to linalg",
            outcome.reason,
            "try `iree-compile --compile-to=input` on it",
        )


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


def _external_files(model: Path) -> list[str]:
    """Files beside an ONNX model that hold its tensors, by their path relative to the model."""
    import onnx  # noqa: PLC0415  (optional, and slow to import)
    from onnx.external_data_helper import ExternalDataInfo, uses_external_data  # noqa: PLC0415

    def tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
        yield from graph.initializer
        for node in graph.node:
            yield from attributes(node)

    def attributes(node: onnx.NodeProto) -> Iterator[onnx.TensorProto]:
        for attribute in node.attribute:
            yield attribute.t
            yield from attribute.tensors
            for graph in (attribute.g, *attribute.graphs):
                yield from tensors(graph)

    proto = onnx.load(str(model), load_external_data=False)
    found = [*tensors(proto.graph)]
    for function in proto.functions:
        for node in function.node:
            found += attributes(node)
    return sorted({ExternalDataInfo(t).location for t in found if uses_external_data(t)})
