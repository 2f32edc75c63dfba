"""``[[packing.op]]``: which contractions a target packs in a way of their own.

[[packing.op]]
kind = "contraction"                  # or "convolution"; the conditions may be left out
named = "matmul"                      # the linalg op that means exactly this op
name = 'contraction\\.1[0-9]'         # regular expression for the whole name in the report
types = ["i8", "i8", "i32"]           # lhs, rhs, result
sizes = { m = "..64", n = "512..", k = 1024 }
tile = [8, 32, 4]                     # or { batch = 8, n = 32 }
inner = ["m", "n", "k"]
outer = { lhs = ["k", "m"], rhs = ["k", "n"], result = ["m", "n"] }
emit = "generic"                      # or "mmt4d"
only = true                           # without the tiles that the target has for all ops
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

from layoutopt.errors import InputError
from layoutopt.profiles.machine import MOST_TILE

Role = Literal["batch", "m", "n", "k"]
Kind = Literal["contraction", "convolution"]
Name = TypeVar("Name", bound=str)

ROLES: tuple[Role, ...] = get_args(Role)
KINDS: tuple[Kind, ...] = get_args(Kind)
OPERANDS = ("lhs", "rhs", "result")
_SPAN = re.compile(r"(\d*)\.\.(\d*)")


@dataclass(frozen=True, slots=True)
class SizeRange:
    """Sizes from ``low`` to ``high``, both included; no bound above where it is None."""

    low: int
    high: int | None

    def __contains__(self, size: int) -> bool:
        return self.low <= size and (self.high is None or size <= self.high)


@dataclass(frozen=True, slots=True)
class OpPattern:
    """A packing of the contractions that meet all conditions; an empty condition is met by all."""

    tile: tuple[tuple[Role, int], ...]
    """Packed sizes."""
    inner: tuple[Role, ...] = ("batch", "m", "n", "k")
    """The order of the inner dims, in every operand that has them."""
    outer: tuple[tuple[Role, ...], ...] = ((), (), ())
    """The order of the outer dims of lhs, rhs and result; roles that are left out come first."""
    mmt4d: bool = True
    """Written as ``linalg.mmt4d``, left out where the maps do not match; else as a generic."""
    only: bool = False
    """The target's other tiles are not for these ops."""
    kind: Kind | None = None
    named: str = ""
    name: str = ""
    types: tuple[str, ...] = ()
    sizes: tuple[tuple[Role, SizeRange], ...] = ()


def op_patterns(rows: object, where: str) -> tuple[OpPattern, ...]:
    """The patterns of a target's ``packing.op``. Raises InputError for an invalid entry."""
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise _error(f"{where}: packing.op", "tables [[packing.op]]", rows)
    return tuple(_Reader(f"{where}: packing.op {i}", row).pattern() for i, row in enumerate(rows))


class _Reader:
    def __init__(self, where: str, row: dict[str, object]) -> None:
        self._where = where
        self._row = row

    def pattern(self) -> OpPattern:
        fields = OpPattern.__dataclass_fields__.keys() - {"mmt4d"} | {"emit"}
        unknown = sorted(self._row.keys() - fields)
        if unknown:
            raise _error(self._where, f"fields of {', '.join(sorted(fields))}", unknown[0])
        if "tile" not in self._row:
            raise _error(self._where, "a tile", None)
        emit = self._one_of("emit", ("mmt4d", "generic"), "mmt4d")
        only = self._row.get("only", False)
        if not isinstance(only, bool):
            raise self._refused("only", "true or false", only)
        kind = self._row.get("kind")
        return OpPattern(
            tile=self._tile(),
            inner=self._roles("inner", self._row.get("inner", list(ROLES))),
            outer=self._outer(),
            mmt4d=emit == "mmt4d",
            only=only,
            kind=None if kind is None else _literal(KINDS, self._one_of("kind", KINDS, "")),
            named=self._text("named"),
            name=self._regex(),
            types=self._types(),
            sizes=self._sizes(),
        )

    def _refused(self, field: str, expected: str, got: object) -> InputError:
        return _error(f"{self._where}.{field}", expected, got)

    def _text(self, field: str) -> str:
        text = self._row.get(field, "")
        if not isinstance(text, str):
            raise self._refused(field, "a string", text)
        return text

    def _one_of(self, field: str, known: tuple[str, ...], default: str) -> str:
        text = self._row.get(field, default)
        if not isinstance(text, str) or text not in known:
            raise self._refused(field, f"one of {', '.join(known)}", text)
        return text

    def _regex(self) -> str:
        text = self._text("name")
        try:
            re.compile(text)
        except re.error as error:
            raise self._refused("name", "a regular expression", f"{text!r} ({error})") from error
        return text

    def _tile(self) -> tuple[tuple[Role, int], ...]:
        value = self._row["tile"]
        if isinstance(value, list) and len(value) == 3:
            value = dict(zip(("m", "n", "k"), value, strict=True))
        if not isinstance(value, dict) or not value or not value.keys() <= set(ROLES):
            raise self._refused("tile", "[m, n, k] or a table of batch, m, n and k", value)
        if any(type(n) is not int or not 1 <= n <= MOST_TILE for n in value.values()):
            raise self._refused("tile", f"sizes from 1 to {MOST_TILE}", list(value.values()))
        return tuple((role, value[role]) for role in ROLES if role in value)

    def _roles(self, field: str, value: object) -> tuple[Role, ...]:
        if not isinstance(value, list) or any(r not in ROLES for r in value):
            raise self._refused(field, f"a list of {', '.join(ROLES)}", value)
        if len(set(value)) != len(value):
            raise self._refused(field, "each role once", value)
        return tuple(_literal(ROLES, r) for r in value)

    def _outer(self) -> tuple[tuple[Role, ...], ...]:
        value = self._row.get("outer", {})
        if not isinstance(value, dict) or not value.keys() <= set(OPERANDS):
            raise self._refused("outer", "a table of lhs, rhs and result", value)
        return tuple(self._roles(f"outer.{name}", value.get(name, [])) for name in OPERANDS)

    def _types(self) -> tuple[str, ...]:
        value = self._row.get("types", [])
        if not isinstance(value, list) or any(not isinstance(t, str) for t in value):
            raise self._refused("types", "a list of element types", value)
        if len(value) not in (0, 3):
            raise self._refused("types", "three element types: lhs, rhs, result", value)
        return tuple(value)

    def _sizes(self) -> tuple[tuple[Role, SizeRange], ...]:
        value = self._row.get("sizes", {})
        if not isinstance(value, dict) or not value.keys() <= set(ROLES):
            raise self._refused("sizes", f"a table of {', '.join(ROLES)}", value)
        return tuple(
            (_literal(ROLES, role), self._range(f"sizes.{role}", text))
            for role, text in value.items()
        )

    def _range(self, field: str, value: object) -> SizeRange:
        if type(value) is int and value >= 1:
            return SizeRange(value, value)
        found = _SPAN.fullmatch(value) if isinstance(value, str) else None
        if found is None or value == "..":
            raise self._refused(field, "a size, or a range such as '..64' or '65..512'", value)
        return SizeRange(int(found[1] or 0), int(found[2]) if found[2] else None)


def _literal(known: tuple[Name, ...], text: object) -> Name:
    return next(k for k in known if k == text)


def _error(where: str, expected: str, got: object) -> InputError:
    return InputError(where, expected, "none" if got is None else f"{got!r}", "see docs/packing.md")
