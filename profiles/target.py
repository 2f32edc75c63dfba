"""Targets: what a machine can do and how IREE compiles for it, one TOML file each."""

from __future__ import annotations

import hashlib
import platform
import tomllib
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path

from layoutopt.errors import InputError, MissingProfileError
from layoutopt.input import check_file, read_text
from layoutopt.profiles.host import detected_gflops
from layoutopt.profiles.machine import Machine, machine_from
from layoutopt.profiles.op_pattern import OpPattern, op_patterns


@dataclass(frozen=True, slots=True)
class FlagSet:
    """A set of compiler flags that IREE's users would try, by name."""

    name: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rates:
    """What the roofline needs; sources stand beside the numbers in the TOML file."""

    gflops: dict[str, float]
    """Peak rate of a contraction by element type of its inputs, in GFLOP/s."""
    bandwidth_gb_s: float
    launch_ns: float
    efficiency: dict[str, float]
    """Share of the peak by form: matmul, conv_nhwc, conv_nchw, conv_other, generic, copy, ..."""
    vector_gflops: dict[str, float] = field(default_factory=dict)
    """Peak rate without matrix instructions; empty where there is no difference."""


@dataclass(frozen=True, slots=True)
class Tile:
    """Sizes of the inner loops of a packed contraction; 1 leaves a loop as it is."""

    m: int
    n: int
    k: int
    mmt4d: bool = True
    """Written as ``linalg.mmt4d``, left out where the maps do not match; else as a generic.

    IREE 3.13 computes wrong numbers for an mmt4d of a tile that no microkernel is there for.
    """


@dataclass(frozen=True, slots=True)
class Target:
    """A place to run models."""

    name: str
    description: str
    flags: tuple[str, ...]
    data_tiling_flag: str
    """The flag that makes per-op hints count; empty where the target has none."""
    flag_sets: tuple[FlagSet, ...]
    device: str
    measurable: bool
    """Whether prices are measured on this machine; else they are estimates."""
    rates: Rates
    fingerprint: str
    fuses_pads: bool = False
    """Whether a pad may share one dispatch with what reads it through windows."""
    machine: Machine = field(default_factory=Machine)
    tiles: dict[str, tuple[Tile, ...]] = field(default_factory=dict)
    """The tiles that packed contractions may take, by element type of their inputs."""
    blocks: dict[str, tuple[Tile, ...]] = field(default_factory=dict)
    """The same for ``--objective=conversions``: m, n and k tiles that chain, op after op."""
    custom_packing: str = ""
    """``package.module:name`` of a callable with packings of the user's own; empty for none."""
    op_packings: tuple[OpPattern, ...] = ()
    """Packings of the contractions that meet some conditions."""


def known_targets() -> tuple[str, ...]:
    """Names of the targets that come with layoutopt, sorted."""
    found = (p.name for p in resources.files("layoutopt.profiles").iterdir())
    return tuple(sorted(n.removesuffix(".toml") for n in found if n.endswith(".toml")))


def load_target(name: str) -> Target:
    """A target by name, or from a TOML file of the user's own.

    Raises MissingProfileError for an unknown name and InputError for a file that is no target.
    """
    path = Path(name)
    if path.suffix == ".toml":
        return _parse(target_text(name), name)
    return _parse(target_text(name), f"{name}.toml")


def target_text(name: str) -> str:
    """The TOML text of a target, comments included. Raises as `load_target` does."""
    path = Path(name)
    if path.suffix == ".toml":
        check_file(path, "a target's TOML file")
        return read_text(path)
    if name not in known_targets():
        raise MissingProfileError(
            f"profile '{name}'",
            f"one of {', '.join(known_targets())}",
            f"'{name}'",
            "choose one of these or give a TOML file of your own",
        )
    return (resources.files("layoutopt.profiles") / f"{name}.toml").read_text(encoding="utf-8")


def _parse(text: str, where: str) -> Target:
    try:
        table = tomllib.loads(text)
        return _target(table, f"profile '{where}'")
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            f"profile '{where}'", "valid TOML", str(error), "correct the file"
        ) from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(
            f"profile '{where}'",
            "the fields of a target",
            f"no field {error}" if isinstance(error, KeyError) else str(error),
            "compare with `layoutopt targets --show mi355x`",
        ) from error


def _target(table: dict[str, object], where: str) -> Target:
    compiling, running, rates = (_table(table, k) for k in ("compile", "run", "rates"))
    sets = _table(compiling, "flag_sets")
    measurable = _flag(running["measurable"], "measurable")
    name = str(table["name"])
    gflops = {k: float(str(v)) for k, v in _table(rates, "gflops").items()}
    if _flag(running.get("detect", False), "detect"):
        gflops |= detected_gflops()
    flags = _strings(compiling["flags"])
    return Target(
        name=name,
        description=str(table["description"]),
        flags=flags,
        data_tiling_flag=str(compiling.get("data_tiling_flag", "")),
        flag_sets=tuple(FlagSet(str(k), _strings(v)) for k, v in sets.items()),
        device=str(running["device"]),
        measurable=measurable,
        rates=Rates(
            gflops,
            float(str(rates["bandwidth_gb_s"])),
            float(str(rates["launch_ns"])),
            {k: float(str(v)) for k, v in _table(rates, "efficiency").items()},
            {k: float(str(v)) for k, v in _optional(rates, "vector_gflops").items()},
        ),
        fingerprint=f"{name}:{machine_fingerprint() if measurable else 'estimate'}",
        fuses_pads=_flag(compiling.get("fuses_pads", False), "fuses_pads"),
        machine=machine_from(table),
        tiles=_menu(table, "tiles"),
        blocks=_menu(table, "blocks"),
        custom_packing=str(_optional(table, "packing").get("custom", "")),
        op_packings=op_patterns(_optional(table, "packing").get("op", []), where),
    )


def _menu(table: dict[str, object], key: str) -> dict[str, tuple[Tile, ...]]:
    """The tiles of ``[packing.<key>]``, none where the target does not say."""
    packing = _table({"packing": {}} | table, "packing")
    found: dict[str, tuple[Tile, ...]] = {}
    for element, rows in _table({key: {}} | packing, key).items():
        if not isinstance(rows, list):
            raise TypeError(f"packing.{key}.{element} is no list of tiles")
        found[element] = tuple(_tile(row) for row in rows)
    return found


def _tile(row: object) -> Tile:
    """``[m, n, k]`` or ``{tile = [m, n, k], emit = "mmt4d" | "generic"}``."""
    fields = row if isinstance(row, dict) else {"tile": row}
    sizes, emit = fields["tile"], fields.get("emit", "mmt4d")
    if not isinstance(sizes, list) or len(sizes) != 3 or any(type(n) is not int for n in sizes):
        raise TypeError(f"{sizes!r} is no tile of m, n and k")
    if min(sizes) < 1:
        raise ValueError(f"{sizes!r} has a tile below 1")
    if emit not in ("mmt4d", "generic"):
        raise ValueError(f"{emit!r} is neither mmt4d nor generic")
    m, n, k = sizes
    return Tile(m, n, k, emit == "mmt4d")


def _table(table: dict[str, object], key: str) -> dict[str, object]:
    found = table[key]
    if not isinstance(found, dict):
        raise TypeError(f"{key} is no table")
    return found


def _optional(table: dict[str, object], key: str) -> dict[str, object]:
    return _table(table, key) if key in table else {}


def _flag(value: object, name: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} = {value!r}, neither true nor false")
    return value


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list of strings")
    return tuple(map(str, value))


def machine_fingerprint() -> str:
    """What tells one host from another as far as speed goes: its processor and its features."""
    text = platform.machine() + platform.processor()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        wanted = (
            "vendor_id",
            "cpu family",
            "model",
            "model name",
            "stepping",
            "flags",
            "cpu MHz",
            "CPU implementer",
            "CPU part",
            "Features",
        )
        lines = {
            k.strip(): v.strip()
            for k, _, v in (line.partition(":") for line in info.read_text().splitlines())
        }
        text += "".join(lines.get(k, "") for k in wanted if k != "cpu MHz")
    return hashlib.sha256(text.encode()).hexdigest()[:16]
