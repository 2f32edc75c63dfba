"""What the analytic model knows about a machine beside its peak rates, as a target's TOML says.

Every field has a default, so that a target can be written with its peak rates alone.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from layoutopt.profiles.toml_table import LARGEST, Table

MOST_TILE = 1 << 16
"""No tile of a packed contraction is larger."""
_MOST_UNCERTAIN = 100.0
_LISTS = ("levels",)


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """A cache or memory: bytes that it holds (0 for the last one: all) and its rate in GB/s."""

    name: str
    size_bytes: int
    gb_s: float


@dataclass(frozen=True, slots=True)
class Machine:
    """Parameters of the analytic model. Times in ns, rates in GB/s (1e9 bytes a second)."""

    compute_units: int = 1
    """Units that run workgroups side by side; cores of a CPU in use."""
    peak_share: float = 1.0
    """Share of the peak rates that dispatches usually reach, of any kind."""
    vgprs: int = 0
    """Vector registers per thread of a compute unit's SIMD, shared by its waves; 0 unknown."""
    lds_bytes: int = 0
    """Memory that the workgroups of a compute unit share; 0 unknown."""
    simds: int = 1
    """SIMDs of a compute unit."""
    most_waves: int = 1
    """Waves that one SIMD keeps at most."""
    subgroup: int = 0
    """Lanes of a wave; 0 where there are none."""
    uncertainty: float = 0.5
    """Two of three estimates without a compiled kernel are within a factor of 1 + this."""
    uncertainty_form: float = 1.0
    """The same for a form that only the shares in `rates.efficiency` describe."""
    levels: tuple[MemoryLevel, ...] = ()
    """Caches below the main memory, nearest first."""


def machine_from(table: Table) -> Machine:
    """Read the `machine` and `memory` parts of a target; each may be missing.

    Raises InputError where a field is unknown, of another type or out of range.
    """
    given = table.table("machine", optional=True)
    known = {f.name: (str(f.type), f.default) for f in fields(Machine) if f.name not in _LISTS}
    given.only(known)
    values: dict[str, object] = {}
    for name, (kind, default) in known.items():
        if name in given.values:
            values[name] = _field(given, name, kind, default)
    values["levels"] = tuple(map(_level, table.tables("memory")))
    return Machine(**values)  # type: ignore[arg-type]


def tile_sizes(table: Table, key: str, sizes: object) -> tuple[int, int, int]:
    """``[m, n, k]`` of a tile. Raises InputError for anything else."""
    match sizes:
        case [int(m), int(n), int(k)] if all(
            type(size) is int and 1 <= size <= MOST_TILE for size in (m, n, k)
        ):
            return m, n, k
    raise table.refused(key, f"[m, n, k], each from 1 to {MOST_TILE}", sizes)


def _field(given: Table, name: str, kind: str, default: object) -> object:
    """A field counts things, or is a share or an error, or a rate or time that may be 0."""
    if kind == "bool":
        return given.flag(name)
    if kind == "int":
        return given.integer(name, 1 if default == 1 else 0)
    if name.endswith("_share"):
        return given.number(name, most=1.0)
    most = _MOST_UNCERTAIN if name.startswith("uncertainty") else LARGEST
    return given.number(name, most, or_zero=True)


def _level(row: Table) -> MemoryLevel:
    row.only(("name", "size_bytes", "gb_s"))
    return MemoryLevel(row.text("name"), row.integer("size_bytes", 0), row.number("gb_s"))
