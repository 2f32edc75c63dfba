"""Files with the parameters that a module leaves outside: found by scope, checked by key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from layoutopt.errors import InputError
from layoutopt.files.given import check_file
from layoutopt.ir.types import TensorType, is_stored_in_bytes
from layoutopt.mlir.read.parameters import Parameter
from layoutopt.options import ParameterFile
from layoutopt.runtime.binding import StoredParameter, read_parameters
from layoutopt.runtime.reason import runtime_reason


def resolve(
    model: Path, named: Mapping[Parameter, TensorType | None], files: Sequence[ParameterFile]
) -> tuple[tuple[str, Path], ...]:
    """(scope, file) for every scope that a module names, each file read and checked against it.

    Raises InputError where a scope has no file, a file no entry, or an entry another size.
    """
    scopes = tuple(dict.fromkeys(p.scope for p in named))
    found: dict[str, Path] = {}
    for file in files:
        scope = scopes[0] if file.scope is None and len(scopes) == 1 else file.scope
        if scope is None:
            raise InputError(
                str(file.path),
                f"a file of one of the scopes {', '.join(scopes) or '(the model names none)'}",
                "no scope",
                "give it as SCOPE=FILE" if scopes else "leave the file out",
            )
        if scope not in scopes:
            raise InputError(
                str(file.path),
                f"a file of one of the scopes {', '.join(scopes) or '(the model names none)'}",
                f"scope '{scope}'",
                "leave it out or correct the scope",
            )
        if scope in found:
            raise InputError(
                str(file.path), f"one file for scope '{scope}'", "two", "merge the files into one"
            )
        found[scope] = file.path
    for scope in scopes:
        if scope not in found:
            first = next(p for p in named if p.scope == scope)
            raise InputError(
                str(model),
                f"a file for its parameters {first}, ...",
                "none",
                f"give it with --parameters {scope + '=' if scope else ''}FILE",
            )
    for scope, path in found.items():
        wanted = {p.key: kind for p, kind in named.items() if p.scope == scope}
        check_entries(path, {e.key: e for e in stored_parameters(path)}, wanted)
    return tuple(found.items())


def stored_parameters(path: Path) -> tuple[StoredParameter, ...]:
    """The entries of a parameter file. Raises InputError for a file that IREE does not read."""
    check_file(path, "a parameter file")
    try:
        stored = read_parameters(path)
    except (RuntimeError, ValueError, LookupError, OSError) as error:
        raise InputError(
            str(path),
            "a parameter file that IREE reads (.irpa, .safetensors, .gguf)",
            runtime_reason(error),
            "check the file",
        ) from error
    length = path.stat().st_size
    for entry in stored:
        if not entry.pattern and entry.offset + entry.size_bytes > length:
            raise InputError(
                f"{path}: parameter '{entry.key}'",
                f"bytes {entry.offset} to {entry.offset + entry.size_bytes} of the file",
                f"a file of {length} bytes",
                "check the file",
            )
    return stored


def check_entries(
    path: Path,
    stored: Mapping[str, StoredParameter],
    wanted: Mapping[str, TensorType | None],
) -> None:
    """Raises InputError where a wanted entry is missing or has another size in bytes."""
    for key, kind in wanted.items():
        if key not in stored:
            raise InputError(
                str(path),
                f"a parameter '{key}'",
                f"{len(stored)} others" if stored else "an empty file",
                "give the file that the model was exported with",
            )
        size = stored[key].size_bytes
        if kind is not None and is_stored_in_bytes(kind.element) and kind.size_bytes != size:
            raise InputError(
                f"{path}: parameter '{key}'",
                f"{kind.size_bytes} bytes for {kind}",
                f"{size}",
                "give the file that the model was exported with",
            )
