"""A table of a target's TOML file, read key by key: what does not fit is told with its key."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from layoutopt.errors import InputError

SMALLEST, LARGEST = 1e-9, 1e15
"""No rate, time or size of a target is smaller or larger: estimates stay finite."""
_NEXT_STEP = "compare with `layoutopt targets --show mi355x`"
_LENGTH = 60


class Table:
    """The keys of one table; ``path`` is where it stands in the file, ``rates.gflops``."""

    def __init__(self, where: str, path: str, values: object) -> None:
        """Raises InputError where ``values`` are not a table."""
        self.where = where
        self.path = path
        if not isinstance(values, dict):
            raise self.refused("", "a table", values)
        self.values: Mapping[str, object] = values

    def only(self, known: Collection[str]) -> Table:
        """Raises InputError where there are keys that are not known: a slip would go unnoticed."""
        for key in self.values:
            if key not in known:
                raise self.refused(key, f"one of {', '.join(sorted(known))}", _Key(key))
        return self

    def refused(self, key: str, expected: str, got: object) -> InputError:
        """The error for one key."""
        name = ".".join(part for part in (self.path, key) if part)
        return InputError(f"{self.where}: {name}", expected, _text(got), _NEXT_STEP)

    def table(self, key: str, optional: bool = False) -> Table:
        """A table inside; empty where it is optional and left out."""
        given = self.values.get(key, {} if optional else None)
        if not isinstance(given, dict):
            raise self.refused(key, "a table", given)
        return Table(self.where, f"{self.path}.{key}".lstrip("."), given)

    def items(self, key: str) -> Sequence[object]:
        """A list; empty where it is left out."""
        given = self.values.get(key, [])
        if not isinstance(given, list):
            raise self.refused(key, "a list", given)
        return given

    def tables(self, key: str) -> list[Table]:
        """A list of tables; empty where it is left out."""
        inside = f"{self.path}.{key}".lstrip(".")
        given = self.items(key)
        return [Table(self.where, f"{inside}[{i}]", row) for i, row in enumerate(given)]

    def text(self, key: str, default: str | None = None) -> str:
        """A string that fits on a line."""
        given = self.values.get(key, default)
        if not isinstance(given, str) or not _is_line(given):
            raise self.refused(key, "a string on one line", given)
        return given

    def texts(self, key: str) -> tuple[str, ...]:
        """A list of strings."""
        given = self.values.get(key)
        if not isinstance(given, list) or not all(isinstance(v, str) for v in given):
            raise self.refused(key, "a list of strings", given)
        if not all(map(_is_line, given)):
            raise self.refused(key, "strings on one line each", given)
        return tuple(given)

    def flag(self, key: str, default: bool | None = None) -> bool:
        """True or false."""
        given = self.values.get(key, default)
        if not isinstance(given, bool):
            raise self.refused(key, "true or false", given)
        return given

    def integer(self, key: str, lowest: int, default: int | None = None) -> int:
        """A whole number from ``lowest`` on."""
        given = self.values.get(key, default)
        if not isinstance(given, int) or isinstance(given, bool) or not lowest <= given <= LARGEST:
            raise self.refused(key, f"a whole number from {lowest} to {LARGEST:g}", given)
        return given

    def number(self, key: str, most: float = LARGEST, or_zero: bool = False) -> float:
        """A number above 0, or ``or_zero``, and up to ``most``."""
        given = self.values.get(key)
        is_number = isinstance(given, int | float) and not isinstance(given, bool)
        if is_number and (SMALLEST <= given <= most or (or_zero and given == 0)):  # type: ignore[operator]
            return float(given)  # type: ignore[arg-type]
        kind = f"0, or a number from {SMALLEST:g}" if or_zero else f"a number from {SMALLEST:g}"
        raise self.refused(key, f"{kind} to {most:g}", given)

    def numbers(self, required: Sequence[str], most: float = LARGEST) -> dict[str, float]:
        """All keys of the table with a number above 0 for each; the required ones are there."""
        return {key: self.number(key, most=most) for key in (*self.values, *required)}


class _Key(str):
    """A key that is told as it stands."""


def _text(got: object) -> str:
    if got is None:
        return "none"
    text = f"'{got}'" if isinstance(got, _Key) else repr(got)
    return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}..."


def _is_line(text: str) -> bool:
    return not text or text.isprintable()
