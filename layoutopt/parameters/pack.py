"""``layoutopt pack-weights``: a parameter file in the layouts that a planned module reads.

A plan that reads a parameter in another layout converts it when the module is loaded, and holds
it twice from then on. Here the file is rewritten with the converted weights, and the module reads
those. Converted weights get keys of their own, so that a module never takes one for the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from layoutopt.errors import InputError
from layoutopt.files.written import check_not_read
from layoutopt.ir.graph import Constant
from layoutopt.ir.types import TensorType
from layoutopt.mlir.module import parse_module
from layoutopt.mlir.parse import PLANNED, recorded_flags
from layoutopt.mlir.read.initializers import LoadTimeWeight, load_time_weights, name_parameters
from layoutopt.mlir.read.parameters import Parameter, module_parameters
from layoutopt.options import ParameterFile
from layoutopt.parameters.contents import Contents, Progress
from layoutopt.parameters.files import check_entries, stored_parameters
from layoutopt.parameters.movement import not_a_movement, raw_type
from layoutopt.parameters.partial import partial_file
from layoutopt.runtime.binding import StoredParameter
from layoutopt.runtime.reread import reread
from layoutopt.runtime.workspace import workspace


@dataclass(frozen=True, slots=True)
class PackedWeight:
    """A weight that the new file holds as the module reads it."""

    key: str
    sources: tuple[str, ...]
    kind: TensorType


@dataclass(frozen=True, slots=True)
class KeptWeight:
    """A weight that is still converted when the module is loaded, and why."""

    symbol: str
    reason: str


@dataclass(frozen=True, slots=True)
class PackedWeights:
    """What `pack_weights` did."""

    scope: str
    packed: tuple[PackedWeight, ...]
    kept: tuple[KeptWeight, ...]
    dropped: tuple[str, ...]
    """Entries that the module read before and reads no more: not in the new file."""
    size_before: int
    size_after: int
    """Bytes of the two files."""
    resumed_bytes: int
    """Of the new file, finished by a run that was interrupted."""


def pack_weights(
    module: Path,
    file: ParameterFile,
    output: Path,
    module_output: Path,
    progress: Progress = lambda done, total: None,
) -> PackedWeights:
    """Write ``output`` (.irpa) and the module that reads it, each whole or not at all.

    ``module``: what `layoutopt optimize` wrote; ``file``: the parameters of one of its scopes.
    Memory does not grow with the file or with its largest tensor. A run that was interrupted goes
    on where it stopped. Raises InputError.
    """
    _check_outputs(module, file.path, output, module_output)
    if not module.is_file():
        raise InputError(
            str(module),
            "a module that `layoutopt optimize` wrote",
            "no such file",
            "check the path",
        )
    with workspace() as folder:
        reread(module, folder / "module.mlirbc", PLANNED)
        flags = recorded_flags(folder / "module.mlirbc", module)
        parsed = parse_module(folder / "module.mlirbc", module)
    scope = _scope(module, file, parsed.parameters)
    stored = {entry.key: entry for entry in stored_parameters(file.path)}
    named = {p.key: kind for p, kind in parsed.parameters.items() if p.scope == scope}
    check_entries(file.path, stored, named)
    weights: dict[str, LoadTimeWeight] = {}
    keys: dict[str, Parameter] = {}
    kept: list[KeptWeight] = []
    for weight in load_time_weights(parsed.operation):
        reason = weight.reason or _other_scope(weight, scope) or _wide_splat(weight, stored)
        reason = reason or not_a_movement(weight.graph)
        if reason:
            kept.append(KeptWeight(weight.symbol, reason))
            continue
        key = _derived_key(weight)
        if key in stored:
            raise InputError(
                f"{file.path}: parameter '{key}'",
                "a file that no weight was packed into",
                "one that holds this weight",
                "give the file that the model was exported with",
            )
        keys[weight.symbol] = Parameter(scope, key)
        weights[key] = weight
    name_parameters(parsed.operation, keys)
    still = {p.key for p in module_parameters(parsed.operation) if p.scope == scope}
    weights = {key: weight for key, weight in weights.items() if key in still}
    dropped = tuple(key for key in named if key not in still)
    contents = Contents(file.path, stored, dropped, weights, output.parent)
    with partial_file(output, contents.job, contents.archive.size_bytes) as partial:
        contents.write(partial, progress)
        parsed.write(module_output, flags)
    return PackedWeights(
        scope,
        tuple(
            PackedWeight(key, tuple(p.key for p in w.parameters.values()), w.kind)
            for key, w in weights.items()
        ),
        tuple(kept),
        dropped,
        file.path.stat().st_size,
        contents.archive.size_bytes,
        sum(size for _, size in partial.finished),
    )


def _derived_key(weight: LoadTimeWeight) -> str:
    """A key that says what a weight is made of: its first source, its shape, and how it is made."""
    sources = [p.key for p in weight.parameters.values()]
    constants = [op.splat for op in weight.graph.ops if isinstance(op, Constant)]
    ops = [op for op in weight.graph.ops if not isinstance(op, Constant)]
    told = repr((sources, constants, weight.graph.types, ops, weight.result))
    digest = hashlib.sha256(told.encode()).hexdigest()[:8]
    shape = "x".join(map(str, weight.kind.shape))
    return f"{sources[0]}.{shape}-{digest}"


def _other_scope(weight: LoadTimeWeight, scope: str) -> str | None:
    other = next((p for p in weight.parameters.values() if p.scope != scope), None)
    return None if other is None else f"it reads {other}, of another scope"


def _wide_splat(weight: LoadTimeWeight, stored: Mapping[str, StoredParameter]) -> str | None:
    for tensor, parameter in weight.parameters.items():
        size = len(stored[parameter.key].pattern)
        if size and raw_type(weight.graph.types[tensor]).itemsize % size:
            return f"{parameter} repeats {size} bytes, more than one element"
    return None


def _scope(module: Path, file: ParameterFile, named: Mapping[Parameter, TensorType | None]) -> str:
    scopes = tuple(dict.fromkeys(p.scope for p in named))
    if not scopes:
        raise InputError(
            str(module), "a module that names parameters", "none", "its weights are inside already"
        )
    if file.scope is None and len(scopes) == 1:
        return scopes[0]
    if file.scope not in scopes:
        raise InputError(
            str(file.path),
            f"a file of one of the scopes {', '.join(scopes)}",
            "no scope" if file.scope is None else f"scope '{file.scope}'",
            "give it as SCOPE=FILE",
        )
    return file.scope


def _check_outputs(module: Path, file: Path, output: Path, module_output: Path) -> None:
    if output.suffix != ".irpa":
        raise InputError(
            str(output), "a file that ends in .irpa", f"'{output.suffix}'", "rename it"
        )
    for made in (output, module_output):
        check_not_read(made, file, module)
