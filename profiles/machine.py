"""What the analytic model knows about a machine beside its peak rates, as a target's TOML says.

Every field has a default, so that a target can be written with its peak rates alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields


@dataclass(frozen=True, slots=True)
class MemoryLevel:
    """A cache or memory: bytes that it holds (0 for the last one: all) and its rate in GB/s."""

    name: str
    size_bytes: int
    gb_s: float


@dataclass(frozen=True, slots=True)
class Tile:
    """What one workgroup computes in one step of its reduction loop."""

    m: int
    n: int
    k: int


@dataclass(frozen=True, slots=True)
class Machine:
    """Parameters of the analytic model. Times in ns, rates in GB/s (1e9 bytes a second)."""

    compute_units: int = 1
    """Units that run workgroups side by side; cores of a CPU in use."""
    wave_size: int = 1
    """Threads that issue together; 1 on a CPU."""
    matrix: bool = False
    """Whether contractions have matrix instructions, and narrow ones do without them."""
    smallest_matrix_dim: int = 1
    """Result dims below this do not fill a matrix instruction: the compiler takes vectors."""
    stream_share: float = 1.0
    """Share of the memory's peak that fills, copies and elementwise dispatches reach."""
    read_share: float = 1.0
    """Share of the memory's peak that a contraction reaches where memory bounds it."""
    step_ns: float = 0.0
    """Latency of one step of a workgroup's reduction loop: barrier, address, first load."""
    feed_gb_s: float = 0.0
    """Rate at which one compute unit takes operands of a contraction; 0 for no bound."""
    vector_share: float = 1.0
    """Share of the vector peak that a contraction without matrix instructions reaches."""
    copy_run_ns: float = 0.0
    """Start-up of one innermost run of a strided copy (slow_memcpy), over the whole device."""
    copy_large_bytes: int = 0
    """Copies and fills above this many bytes lose bandwidth; 0 for never."""
    copy_large_share: float = 1.0
    """Share of the streaming rate that is left above `copy_large_bytes`."""
    vgprs: int = 0
    """Vector registers per thread of a compute unit's SIMD, shared by its waves; 0 unknown."""
    lds_bytes: int = 0
    """Memory that the workgroups of a compute unit share; 0 unknown."""
    simds: int = 1
    """SIMDs of a compute unit."""
    most_waves: int = 1
    """Waves that one SIMD keeps at most."""
    spill_ns: float = 0.0
    """Cost of one spilled register in each step: a store and a load of scratch memory."""
    uncertainty: float = 0.5
    """Relative standard error of an estimate for a known form."""
    uncertainty_form: float = 1.0
    """The same for a form that only the shares in `rates.efficiency` describe."""
    levels: tuple[MemoryLevel, ...] = ()
    """Caches below the main memory, nearest first."""
    tiles: tuple[Tile, ...] = ()
    """Tiles that the compiler chooses from."""


def machine_from(table: Mapping[str, object]) -> Machine:
    """Read the `machine`, `memory` and `tiles` parts of a target; each may be missing.

    Raises TypeError or ValueError where a field is unknown or of another type.
    """
    given = table.get("machine", {})
    if not isinstance(given, dict):
        raise TypeError("machine is no table")
    known = {field.name: field.type for field in fields(Machine)}
    values: dict[str, object] = {}
    for name, value in given.items():
        if known.get(name) not in {"int", "float", "bool"}:
            raise ValueError(f"an unknown field machine.{name}")
        values[name] = _number(str(known[name]), value)
    values["levels"] = tuple(
        MemoryLevel(str(level["name"]), int(level["size_bytes"]), float(level["gb_s"]))
        for level in _list(table, "memory")
    )
    values["tiles"] = tuple(Tile(*(int(size) for size in tile)) for tile in _list(table, "tiles"))
    return Machine(**values)  # type: ignore[arg-type]


def _number(kind: str, value: object) -> object:
    if kind == "bool":
        if not isinstance(value, bool):
            raise TypeError(f"{value!r} is neither true nor false")
        return value
    return int(str(value)) if kind == "int" else float(str(value))


def _list(table: Mapping[str, object], key: str) -> list:  # type: ignore[type-arg]
    found = table.get(key, [])
    if not isinstance(found, list):
        raise TypeError(f"{key} is no list")
    return found
