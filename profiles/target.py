"""Targets: what a machine can do and how IREE compiles for it, one TOML file each."""

from __future__ import annotations

import hashlib
import json
import platform
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from pathlib import Path

from layoutopt.compiler.gpu import GpuUnits
from layoutopt.compiler.installed import quirks
from layoutopt.compiler.processor import Processor, VectorRegisters
from layoutopt.errors import InputError, MissingProfileError
from layoutopt.files.given import check_file, read_text
from layoutopt.profiles.host import (
    detected_gflops,
    has_byte_products,
    processor_of,
    registers_of_this_machine,
)
from layoutopt.profiles.kernel_rates import KernelRates, kernel_rates
from layoutopt.profiles.machine import MOST_TILE, Machine, machine_from, tile_sizes
from layoutopt.profiles.op_pattern import OpPattern, op_patterns
from layoutopt.profiles.toml_table import Table
from layoutopt.runtime.gpu_units import gpu_units

FORMS = ("matmul", "conv_nhwc", "conv_nchw", "conv_other", "generic", "copy")
"""What `rates.efficiency` of a processor has shares for."""
_ELEMENTS = ("f32",)
"""Rates that stand in for those of any other element type."""
_KEYS = (
    "name", "description", "compile", "run", "rates", "machine", "memory", "kernel", "packing"
)  # fmt: skip
_COMPILE_KEYS = ("flags", "data_tiling", "fuses_pads", "flag_sets")


@dataclass(frozen=True, slots=True)
class FlagSet:
    """A set of compiler flags that IREE's users would try, by name."""

    name: str
    flags: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rates:
    """What the roofline needs; sources stand beside the numbers in the TOML file."""

    gflops: dict[str, float]
    """Peak rate of a contraction by element type of its inputs, in GFLOP/s; always of f32, which
    stands in for the others."""
    bandwidth_gb_s: float
    launch_ns: float
    efficiency: dict[str, float] = field(default_factory=dict)
    """Of a processor: share of the peak, above 0 and up to 1, for each of `FORMS`; empty for GPUs,
    whose kernels are compiled and read."""


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
    data_tiling_flags: tuple[str, ...]
    """Those that enable per-op data tiling; none where the target has none."""
    flag_sets: tuple[FlagSet, ...]
    device: str
    measurable: bool
    """Whether prices are measured on this machine; else they are estimates."""
    rates: Rates
    fingerprint: str
    """Its name and a digest of all that its file says: two files of one name are told apart."""
    place: str
    """What stands in keys for the machine that measurements are of: this machine's processor, or
    the name of a target that is not here; of a file of the user's own, its fingerprint."""
    fuses_pads: bool = False
    """Whether a pad may share one dispatch with what reads it through windows: where that was seen
    to pay with this compiler on such a processor, or where the file says so."""
    machine: Machine = field(default_factory=Machine)
    kernel_rates: KernelRates | None = None
    """How fast it runs compiled kernels; None where kernels for it are not read."""
    tiles: dict[str, tuple[Tile, ...]] = field(default_factory=dict)
    """The tiles that packed contractions may take, by element type of their inputs."""
    blocks: dict[str, tuple[Tile, ...]] = field(default_factory=dict)
    """The same for ``--objective=conversions``: m, n and k tiles that chain, op after op."""
    registers: VectorRegisters | None = None
    """What tiles of contractions are chosen by; None where none are (GPUs, other processors)."""
    gpu: GpuUnits | None = None
    """What its workgroups may use; None for a processor, and where the compiler is to be asked."""
    tiles_workgroups: bool = True
    """Whether tiles of workgroups are candidates for contractions."""
    custom_packing: str = ""
    """``package.module:name`` of a callable with packings of the user's own; empty for none."""
    op_packings: tuple[OpPattern, ...] = ()
    """Packings of the contractions that meet some conditions."""
    byte_products: bool = False
    """Whether its processor multiplies unsigned bytes by signed ones and adds up the products."""

    @property
    def units(self) -> GpuUnits | None:
        """What tiles of contractions are chosen by; None for a processor."""
        return self.row_units if self.tiles_workgroups else None

    @property
    def row_units(self) -> GpuUnits | None:
        """What lanes may share; None for a processor.

        None too where no two kernels of a GPU for the same thing have prices of their own: they do
        where they are measured, or compiled and read.
        """
        told_apart = self.measurable or self.kernel_rates is not None
        if not (self.machine.subgroup and told_apart):
            return None
        return self.gpu or gpu_units(self.flags)

    @property
    def tiles_byte_products(self) -> bool:
        """Whether data tiling uses these instructions."""
        return quirks().flags.byte_products in self.data_tiling_flags

    def tilings(self, elements: Collection[str]) -> tuple[Target, ...]:
        """The target, once for each kind of data tiling of a module of tensors with such elements.

        Where some are bytes, and the processor has products of these, data tiling may use them: for
        a whole module, or for nothing in it.
        """
        if "i8" not in elements or not self.byte_products or not self.data_tiling_flags:
            return (self,)
        flags = (*self.data_tiling_flags, quirks().flags.byte_products)
        return self, replace(self, data_tiling_flags=flags)


def known_targets() -> tuple[str, ...]:
    """Names of the targets that come with layoutopt, sorted."""
    found = (p.name for p in resources.files("layoutopt.profiles").iterdir())
    return tuple(sorted(n.removesuffix(".toml") for n in found if n.endswith(".toml")))


def load_target(name: str) -> Target:
    """A target by name, or from a TOML file of the user's own.

    Raises MissingProfileError for an unknown name and InputError for a file that is not a target.
    """
    if Path(name).suffix == ".toml":
        return _parse(target_text(name), name, shipped=False)
    return _parse(target_text(name), f"{name}.toml", shipped=True)


def measured_on(target: Target, device: str) -> Target:
    """The target as it is measured on a device, not as the target itself names it.

    What a local device measures is this machine's processor: the prices are not those of a target
    that is somewhere else. Which GPU another driver reaches, only the target says.
    """
    place = _this_machine() if _is_local(device) else target.place
    return replace(target, device=device, measurable=True, place=place)


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


def _parse(text: str, name: str, *, shipped: bool) -> Target:
    where = f"profile '{name}'"
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        told = "lists nested too deep" if isinstance(error, RecursionError) else str(error)
        raise InputError(where, "valid TOML", told, "correct the file") from error
    return _target(Table(where, "", table).only(_KEYS), shipped)


def _target(table: Table, shipped: bool) -> Target:
    compiling = table.table("compile").only(_COMPILE_KEYS)
    running = table.table("run").only(("device", "measurable", "detect"))
    packing = table.table("packing", optional=True).only(("tiles", "blocks", "custom", "op"))
    sets = compiling.table("flag_sets")
    measurable = running.flag("measurable")
    detect = running.flag("detect", False)
    name = table.text("name")
    device = running.text("device")
    flags = compiling.texts("flags")
    processor = processor_of(flags)
    fingerprint = f"{name}:{_digest(table.values)}"
    return Target(
        name=name,
        description=table.text("description"),
        flags=flags,
        data_tiling_flags=(quirks().flags.data_tiling,) * compiling.flag("data_tiling", False),
        flag_sets=tuple(FlagSet(k, sets.texts(k)) for k in sets.values),
        device=device,
        measurable=measurable,
        rates=_rates(table.table("rates"), detect),
        fingerprint=fingerprint,
        place=(
            _this_machine()
            if measurable and _is_local(device)
            else f"{name}:estimate"
            if shipped
            else fingerprint
        ),
        fuses_pads=compiling.flag("fuses_pads", processor in quirks().fusion.joins_pads),
        machine=machine_from(table),
        kernel_rates=kernel_rates(table.table("kernel", optional=True)),
        tiles=with_microkernel(_tiles(packing.table("tiles", optional=True)), processor)
        if detect
        else _tiles(packing.table("tiles", optional=True)),
        blocks=_tiles(packing.table("blocks", optional=True)),
        registers=_registers(processor, detect),
        custom_packing=packing.text("custom", ""),
        op_packings=op_patterns(packing.values.get("op", []), table.where),
        byte_products=has_byte_products(flags),
    )


def _registers(processor: Processor | None, detect: bool) -> VectorRegisters | None:
    if processor is None:
        return None
    return registers_of_this_machine(processor) if detect else processor.registers


def _rates(table: Table, detect: bool) -> Rates:
    table.only(("bandwidth_gb_s", "launch_ns", "gflops", "efficiency"))
    by_form = table.table("efficiency", optional=True)
    return Rates(
        table.table("gflops").numbers(_ELEMENTS) | (detected_gflops() if detect else {}),
        table.number("bandwidth_gb_s"),
        table.number("launch_ns"),
        by_form.only(FORMS).numbers(FORMS, most=1.0) if by_form.values else {},
    )


def _tiles(table: Table) -> dict[str, tuple[Tile, ...]]:
    """The tiles of ``[packing.<key>]``, none where the target does not say."""
    return {
        element: tuple(_tile(table, f"{element}[{i}]", row) for i, row in enumerate(rows))
        for element in table.values
        for rows in [table.items(element)]
    }


def with_microkernel(
    tiles: Mapping[str, tuple[Tile, ...]], processor: Processor | None
) -> dict[str, tuple[Tile, ...]]:
    """Those that a processor may have a microkernel for, of tiles listed for several processors."""
    widest = MOST_TILE
    if processor is not None:
        widest = quirks().limits.microkernel_columns[processor]
    return {
        element: tuple(tile for tile in listed if not tile.mmt4d or tile.n <= widest)
        for element, listed in tiles.items()
    }


def _tile(table: Table, key: str, row: object) -> Tile:
    """``[m, n, k]`` or ``{tile = [m, n, k], emit = "mmt4d" | "generic"}``."""
    fields = row if isinstance(row, dict) else {"tile": row}
    if not fields.keys() <= {"tile", "emit"}:
        raise table.refused(key, "a table of tile and emit", row)
    m, n, k = tile_sizes(table, key, fields.get("tile"))
    emit = fields.get("emit", "mmt4d")
    if emit not in ("mmt4d", "generic"):
        raise table.refused(f"{key}.emit", "'mmt4d' or 'generic'", emit)
    return Tile(m, n, k, emit == "mmt4d")


def _is_local(device: str) -> bool:
    """Whether a device is this machine's processor."""
    return device.startswith("local")


def _this_machine() -> str:
    return f"host:{machine_fingerprint()}"


def _digest(values: Mapping[str, object]) -> str:
    """Of what a target's file says, its description aside; the order of entries does not count."""
    said = {key: value for key, value in values.items() if key != "description"}
    text = json.dumps(said, sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


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
