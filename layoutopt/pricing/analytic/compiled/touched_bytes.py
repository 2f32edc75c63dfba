"""Bytes that each dispatch loads and stores.

The size of a binding is no measure of them: IREE keeps all constants in one buffer, and what is
live at once in another. Read from the sources of executables as the compiler writes them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from layoutopt.files.given import read_input
from layoutopt.ir.types import element_bytes

_FUNCTION = re.compile(r"\bfunc\.func @([\w$.\"-]+)\(")
_LOAD = re.compile(
    r"(%[\w-]+) = [\w.]*dispatch\.tensor\.load (%[\w-]+, .*?) : .*-> tensor<([^>,]*)"
)
_STORE = re.compile(r"dispatch\.tensor\.store %[\w-]+, (%[\w-]+, .*?) : tensor<([^>,]*)")
_LOOKUP = re.compile(r"tensor\.extract (%[\w-]+)\[")
_SHAPE = re.compile(r"(?:(?:\d+|\?)x)*")


@dataclass
class _Function:
    """What one dispatch accesses: the type of each part of a binding, as text."""

    loads: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The part and its type, by the value that holds it."""
    stores: dict[str, str] = field(default_factory=dict)
    lookups: set[str] = field(default_factory=set)
    """Values that single elements are read of, at places that data say."""

    @property
    def size_bytes(self) -> int | None:
        """Bytes in all, those of a table left out; None where sizes are open."""
        parts = dict(part for value, part in self.loads.items() if value not in self.lookups)
        sizes = list(map(_size_bytes, (parts | self.stores).values()))
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None


def touched_bytes(folder: Path) -> dict[str, int | None]:
    """By function, the bytes that it loads and stores; None where sizes are open."""
    found: dict[str, _Function] = {}
    for path in sorted(folder.glob("*.mlir")):
        found |= _functions(read_input(path).decode(errors="replace").splitlines())
    return {name: function.size_bytes for name, function in found.items()}


def _functions(lines: Iterable[str]) -> dict[str, _Function]:
    found: dict[str, _Function] = {}
    now = _Function()
    for line in lines:
        named, load, store = _FUNCTION.search(line), _LOAD.search(line), _STORE.search(line)
        if named:
            now = found.setdefault(named[1].strip('"'), _Function())
        elif load:
            now.loads[load[1]] = load[2], load[3]
        elif store:
            now.stores[store[1]] = store[2]
        now.lookups.update(_LOOKUP.findall(line))
    return found


def _size_bytes(text: str) -> int | None:
    shape = _SHAPE.match(text)
    assert shape is not None  # it may be empty
    dims, element = shape[0].split("x")[:-1], text[shape.end() :]
    return None if "?" in dims else math.prod(map(int, dims)) * element_bytes(element)
