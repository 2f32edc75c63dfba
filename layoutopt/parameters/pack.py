"""``layoutopt pack-weights``: a parameter file in the layouts that a planned module reads.

A plan that reads a parameter in another layout converts it when the module is loaded, and holds
it twice from then on. Here the file is rewritten with the converted weights, and the module reads
those. Converted weights get keys of their own, so that a module never takes one for the other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from layoutopt.errors import InputError
from layoutopt.graph import Constant
from layoutopt.mlir.initializers import LoadTimeWeight, load_time_weights, name_parameters
from layoutopt.mlir.module import parse_module, recorded_flags
from layoutopt.mlir.parameters import Parameter, module_parameters
from layoutopt.parameters.archive import Archive, Entry, archive_of
from layoutopt.parameters.files import ParameterFile, check_entries, stored_parameters
from layoutopt.parameters.movement import Movement, not_a_movement, raw_type
from layoutopt.parameters.partial import PartialFile, partial_file
from layoutopt.parameters.stream import ByteFile, copy_blocks, open_file
from layoutopt.runtime.binding import StoredParameter
from layoutopt.types import Array, TensorType

Progress = Callable[[int, int], None]
"""Told (bytes done, bytes in all)."""


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
    resumed: int
    """Entries that an interrupted run had finished."""


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
    flags = recorded_flags(module)
    parsed = parse_module(module)
    scope = _scope(module, file, parsed.parameters)
    stored = {entry.key: entry for entry in stored_parameters(file.path)}
    named = {p.key: kind for p, kind in parsed.parameters.items() if p.scope == scope}
    check_entries(file.path, stored, named)
    weights: dict[str, LoadTimeWeight] = {}
    keys: dict[str, Parameter] = {}
    kept: list[KeptWeight] = []
    for weight in load_time_weights(parsed.operation):
        reason = weight.reason or _other_scope(weight, scope) or not_a_movement(weight.graph)
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
    still = {p.key for p in module_parameters(parsed.operation)}
    dropped = tuple(key for key in named if key not in still)
    plan = _Plan(file.path, {k: e for k, e in stored.items() if k not in dropped}, stored, weights)
    with partial_file(output, plan.job(), plan.archive.size_bytes, plan.places()) as partial:
        plan.write(partial, output.parent, progress)
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
        plan.archive.size_bytes,
        len(partial.finished),
    )


class _Plan:
    """What the new file holds: entries as they were, then weights computed from them."""

    def __init__(
        self,
        path: Path,
        unchanged: Mapping[str, StoredParameter],
        stored: Mapping[str, StoredParameter],
        weights: Mapping[str, LoadTimeWeight],
    ) -> None:
        self._path = path
        self._stored = stored
        self._weights = weights
        self._source = open_file(path)
        entries = [Entry(e.key, e.size_bytes, e.pattern, e.metadata) for e in unchanged.values()]
        entries += [self._entry(key, weight) for key, weight in weights.items()]
        self.entries: Sequence[Entry] = entries
        self.archive: Archive = archive_of(entries)

    def job(self) -> str:
        """What tells this file from any other that might be half written in its place."""
        stat = self._path.stat()
        told = [str(self._path.resolve()), stat.st_size, stat.st_mtime_ns, hash_of(self.archive)]
        return hashlib.sha256(json.dumps(told).encode()).hexdigest()

    def places(self) -> dict[str, tuple[int, int]]:
        """Offset and size of the contents of each entry that has some."""
        offsets = zip(self.entries, self.archive.offsets, strict=True)
        return {e.key: (at, e.size_bytes) for e, at in offsets if not e.pattern}

    def write(self, partial: PartialFile, folder: Path, progress: Progress) -> None:
        """Write the head and every entry that is not finished yet."""
        target = partial.contents
        head = np.frombuffer(self.archive.head, np.uint8)
        target.write(target.bytes[: head.size], head)
        places = self.places()
        total, done = sum(size for _, size in places.values()), 0
        for key, (at, size) in places.items():
            if key not in partial.finished:
                self._write_entry(key, target.bytes[at : at + size], target, folder)
                partial.finish(key, at, size)
            done += size
            progress(done, total)

    def _write_entry(self, key: str, target: Array, file: ByteFile, folder: Path) -> None:
        files = (self._source, file)
        weight = self._weights.get(key)
        if weight is not None:
            kind = weight.kind
            typed = target.view(raw_type(kind)).reshape(kind.shape)
            self._movement(weight, files, folder).store(weight.result, typed)
            return
        entry = self._stored[key]
        source = self._source.bytes[entry.offset : entry.offset + entry.size_bytes]
        copy_blocks(source, target, files)

    def _entry(self, key: str, weight: LoadTimeWeight) -> Entry:
        movement = self._movement(weight, (), self._path.parent)
        pattern = movement.element(weight.result) if movement.is_splat(weight.result) else b""
        return Entry(key, weight.kind.size_bytes, pattern)

    def _movement(
        self, weight: LoadTimeWeight, files: tuple[ByteFile, ...], folder: Path
    ) -> Movement:
        leaves: dict[int, Array] = {}
        for tensor, parameter in weight.parameters.items():
            entry, kind = self._stored[parameter.key], weight.graph.types[tensor]
            raw = raw_type(kind)
            if entry.pattern:
                pattern = (entry.pattern * raw.itemsize)[: max(raw.itemsize, len(entry.pattern))]
                element = np.frombuffer(pattern, raw)[0]
                leaves[tensor] = np.broadcast_to(element, kind.shape)
            else:
                contents = self._source.bytes[entry.offset : entry.offset + entry.size_bytes]
                leaves[tensor] = contents.view(raw).reshape(kind.shape)
        return Movement(weight.graph, leaves, files, folder)


def hash_of(archive: Archive) -> str:
    """What tells one archive's keys, sizes and places from another's."""
    return hashlib.sha256(archive.head).hexdigest()


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
    for source, made in ((file, output), (module, module_output)):
        if made.exists() and source.exists() and made.samefile(source):
            raise InputError(
                str(made), "another file than the one that is read", "the same", "rename it"
            )
