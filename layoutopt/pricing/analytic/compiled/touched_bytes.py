"""Bytes that each dispatch loads and stores.

The size of a binding is no measure of them: IREE keeps all constants in one buffer, and what is
live at once in another. Read from the sources of executables as the compiler writes them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from layoutopt.files.given import read_input
from layoutopt.ir.types import element_bytes
from layoutopt.pricing.analytic.compiled.integer_text import Values, joined, take_integer

_FUNCTION = re.compile(r"\bfunc\.func @([\w$.\"-]+)\(")
_LOAD = re.compile(
    r"(%[\w-]+) = [\w.]*dispatch\.tensor\.load (%[\w-]+, .*?) : .*-> tensor<([^>,]*)"
)
_STORE = re.compile(r"dispatch\.tensor\.store %[\w-]+, (%[\w-]+, .*?) : tensor<([^>,]*)")
_LOOKUP = re.compile(r"tensor\.extract (%[\w-]+)\[")
_SHAPE = re.compile(r"(?:(?:\d+|\?)x)*")
_SIZES = re.compile(r"sizes = \[([^\]]*)\]")
_NUMBER = re.compile(r"^\s*(%[\w-]+) = hal\.interface\.constant\.load .*ordinal\((\d+)\)")


@dataclass
class Touched:
    """What one dispatch accesses: the type of each part of a binding, as text."""

    loads: dict[str, tuple[str, str]] = field(default_factory=dict)
    """The part and its type, by the value that holds it."""
    stores: dict[str, str] = field(default_factory=dict)
    lookups: set[str] = field(default_factory=set)
    """Values that single elements are read of, at places that data say."""
    lines: list[str] = field(default_factory=list)
    """All of its lines, where a size is open."""

    def size_bytes(self, constants: Sequence[int | None] = ()) -> int | None:
        """Bytes in all, those of a table left out; None where sizes are not known.

        ``constants``: numbers that the dispatch gets beside its buffers.
        """
        parts = dict(part for value, part in self.loads.items() if value not in self.lookups)
        values = self._values(constants)
        sizes = [_size_bytes(part, kind, values) for part, kind in (parts | self.stores).items()]
        known = [size for size in sizes if size is not None]
        return sum(known) if len(known) == len(sizes) else None

    def _values(self, constants: Sequence[int | None]) -> Values:
        found: Values = {}
        for line in self.lines:
            given = _NUMBER.match(line)
            number = constants[int(given[2])] if given and int(given[2]) < len(constants) else None
            if given and number is not None:
                found[given[1]] = number
            else:
                take_integer(line, found)
        return found


def touched_bytes(folder: Path) -> dict[str, Touched]:
    """By function, what it loads and stores."""
    found: dict[str, Touched] = {}
    for path in sorted(folder.glob("*.mlir")):
        found |= _functions(read_input(path).decode(errors="replace").splitlines())
    return found


def _functions(lines: Iterable[str]) -> dict[str, Touched]:
    found: dict[str, Touched] = {}
    now = Touched()
    for line in joined(lines):
        named, load, store = _FUNCTION.search(line), _LOAD.search(line), _STORE.search(line)
        if named:
            now = found.setdefault(named[1].strip('"'), Touched())
        elif load:
            now.loads[load[1]] = load[2], load[3]
        elif store:
            now.stores[store[1]] = store[2]
        now.lookups.update(_LOOKUP.findall(line))
        now.lines.append(line)
    for one in found.values():
        kinds = (*(kind for _, kind in one.loads.values()), *one.stores.values())
        if not any("?" in kind for kind in kinds):
            one.lines.clear()
    return found


def _size_bytes(part: str, text: str, values: Values) -> int | None:
    shape = _SHAPE.match(text)
    assert shape is not None  # it may be empty
    dims, element = shape[0].split("x")[:-1], text[shape.end() :]
    listed = _SIZES.search(part)
    opened = [n.strip() for n in listed[1].split(",") if "%" in n] if listed else []
    if dims.count("?") != len(opened) and "?" in dims:
        return None
    names = iter(opened)
    sizes = [values.get(next(names)) if dim == "?" else int(dim) for dim in dims]
    known = [size for size in sizes if size is not None]
    return math.prod(known) * element_bytes(element) if len(known) == len(sizes) else None
