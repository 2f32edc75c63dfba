"""Models as linalg on tensors, kept by content, so that a model is converted once.

An entry is two files, ``KEY.mlirbc`` and ``KEY.json`` beside it. The second one is written last and
removed first: an entry without it does not exist. It holds the first one's hash, which is checked
at each use.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path

from layoutopt.errors import InputError, why
from layoutopt.files.sealed import LOG, is_sealed, sealed, unsealed
from layoutopt.profiles.store import cache_folder

LIMIT_BYTES = 4 << 30
"""What all entries may take together; the least recently used go first."""
_ABANDONED = timedelta(days=1)
"""A file without its entry is work in progress for at most this long."""


@dataclass(frozen=True, slots=True)
class ConvertedModel:
    """What is known about a converted model."""

    sha256: str
    size_bytes: int
    from_input_phase: bool
    """IREE's input conversion has run; else the model was linalg on tensors as it came."""
    iree_version: str
    external: Mapping[str, str]
    """SHA-256 of each file that the model refers to, by its path relative to the model."""
    size_names: Mapping[str, str]
    """By open size (``arg0.1``), what the model calls it where the conversion would lose that."""
    decomposed: tuple[str, ...]
    """Kinds of op that IREE does not import; they stand as the ops that they are made of."""
    restated: tuple[str, ...]
    """Tensors of an ONNX model whose stated shapes its ops contradict, and that have others."""


def converted_folder(cache: Path | str | None) -> Path:
    """Where converted models are kept in a cache folder, by default the user's."""
    return cache_folder(cache) / "converted"


class ConvertedModels:
    """A folder of converted models. Several processes may use one at a time."""

    def __init__(self, folder: Path, limit_bytes: int = LIMIT_BYTES) -> None:
        self.folder = folder
        self.limit_bytes = limit_bytes

    def find(self, key: str, beside: Path, output: Path) -> ConvertedModel | None:
        """Place the module of an entry at ``output``; None where there is none.

        ``beside``: the model's folder. An entry is gone where a file that the model refers to has
        changed, or where its own module has.
        """
        about = self._about(key)
        entry = unsealed(about, ConvertedModel)
        if entry is None:
            return None
        try:
            _place(self._module(key), output)
        except FileNotFoundError:  # another process removed it just now
            return None
        except OSError as error:
            LOG.warning(
                "%s: cannot be read (%s), so it is made anew", self._module(key), why(error)
            )
            return None
        damaged = digest_of(output) != entry.sha256
        if damaged:
            LOG.warning("%s: damaged, so it is made anew", self._module(key))
        if damaged or any(_digest_or_none(beside / n) != d for n, d in entry.external.items()):
            self._remove(key)
            output.unlink()
            return None
        with suppress(FileNotFoundError):
            os.utime(about)
        return entry

    def keep(self, key: str, module: Path, entry: ConvertedModel) -> None:
        """Keep a module, whole or not at all, unless it takes more than there is room for.

        Raises InputError where the folder cannot be written.
        """
        if entry.size_bytes > self.limit_bytes:
            return
        partial = self.folder / f".{key}.{os.getpid()}.partial"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            _place(module, partial)
            partial.replace(self._module(key))
            partial.write_text(sealed(asdict(entry)), encoding="utf-8")
            partial.replace(self._about(key))
            self._bound()
        except OSError as error:
            raise InputError(
                str(self.folder),
                "a folder that can be written",
                error.strerror or str(error),
                "choose another with --cache",
            ) from error
        finally:
            with suppress(OSError):
                partial.unlink()

    def prune(
        self, unused_for: timedelta | None = None, iree_version: str | None = None
    ) -> tuple[int, int]:
        """Remove what meets every condition given; return how many entries, and their bytes."""
        limit = None if unused_for is None else time.time() - unused_for.total_seconds()
        gone = [
            (key, entry)
            for used, key, entry in self._entries()
            if (limit is None or used < limit)
            and (iree_version is None or entry.iree_version == iree_version)
        ]
        for key, _ in gone:
            self._remove(key)
        return len(gone), sum(entry.size_bytes for _, entry in gone)

    def summary(self) -> tuple[int, int]:
        """How many entries there are, and their bytes."""
        sizes = [entry.size_bytes for _, _, entry in self._entries()]
        return len(sizes), sum(sizes)

    def _entries(self) -> list[tuple[float, str, ConvertedModel]]:
        """(time of last use, key, entry), the least recently used first."""
        found = []
        for about in self.folder.glob("*.json"):
            entry = unsealed(about, ConvertedModel) if is_sealed(about, ConvertedModel) else None
            with suppress(FileNotFoundError):
                if entry is not None:
                    found.append((about.stat().st_mtime, about.stem, entry))
        return sorted(found, key=lambda e: e[:2])

    def _bound(self) -> None:
        entries = self._entries()
        total = sum(entry.size_bytes for _, _, entry in entries)
        for _, key, entry in entries:
            if total <= self.limit_bytes:
                break
            self._remove(key)
            total -= entry.size_bytes
        for path in self._abandoned():
            path.unlink(missing_ok=True)

    def _abandoned(self) -> Iterator[Path]:
        """What a killed process left behind, and entries that are damaged."""
        limit = time.time() - _ABANDONED.total_seconds()
        for path in self.folder.iterdir():
            if path.is_dir() or is_sealed(self._about(path.stem), ConvertedModel):
                continue
            with suppress(FileNotFoundError):
                if path.stat().st_mtime < limit:
                    yield path

    def _remove(self, key: str) -> None:
        self._about(key).unlink(missing_ok=True)
        self._module(key).unlink(missing_ok=True)

    def _module(self, key: str) -> Path:
        return self.folder / f"{key}.mlirbc"

    def _about(self, key: str) -> Path:
        return self.folder / f"{key}.json"


def digest_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_or_none(path: Path) -> str | None:
    return digest_of(path) if path.is_file() else None


def _place(source: Path, output: Path) -> None:
    """A second name for a file that is never written again, or a copy on another file system."""
    try:
        output.hardlink_to(source)
    except FileNotFoundError:
        raise
    except OSError:
        shutil.copyfile(source, output)
