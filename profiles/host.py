"""This machine's processor, from what its operating system says of it."""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from layoutopt.compiler.processor import Processor, VectorRegisters

CPU_DESCRIPTION = Path("/proc/cpuinfo")
CPU_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
DEFAULT_GHZ = 2.5
"""Where the system does not tell: a server core's usual clock."""
_BACKENDS = "--iree-hal-local-target-device-backends"
_CPU = "--iree-llvmcpu-target-cpu"
_CPU_FEATURES = "--iree-llvmcpu-target-cpu-features"
_TRIPLE = "--iree-llvmcpu-target-triple"
_ARM = ("arm64", "aarch64")
_LEVELS = {"x86-64-v3": {"avx2", "fma"}, "x86-64-v4": {"avx2", "fma", "avx512f"}}
"""What the levels of x86-64 have; other names of processors are not looked up."""


def detected_gflops(description: Path = CPU_DESCRIPTION) -> dict[str, float]:
    """GFLOP/s of one core by element type; empty where the system does not say what it is.

    rate = clock x vector lanes x 2 multiply-add units x 2 operations; the width of the vectors is
    that of the widest instruction set. f16 and bf16 are computed in f32 unless AVX-512 has them.
    """
    fields = _described(description)
    features = _features(fields)
    bits = _vector_bits(features)
    if not fields or not bits:
        return {}
    ghz = float(fields["cpu MHz"]) / 1e3 if "cpu MHz" in fields else DEFAULT_GHZ
    f32 = ghz * (bits // 32) * 2 * 2
    half = f32 * (2 if "avx512_fp16" in features else 1)
    brain = f32 * (2 if "avx512_bf16" in features else 1)
    integer = f32 * (4 if "avx512_vnni" in features or "asimddp" in features else 1)
    rates = {"f64": f32 / 2, "f32": f32, "f16": half, "bf16": brain, "i8": integer}
    return {name: round(rate, 1) for name, rate in rates.items()}


@dataclass(frozen=True, slots=True)
class Caches:
    """The caches that weights are found in."""

    core_bytes: int
    """Of the largest that one core has for itself, or shares with few."""
    last_bytes: int
    """Of the last one before memory."""


_GEOMETRY = ("level", "type", "ways_of_associativity", "number_of_sets", "coherency_line_size")
USUAL_CACHES = Caches(1 << 20, 32 << 20)
"""Where the system does not tell: those of a server's core."""


def caches_of_this_machine(described: Path = CPU_CACHES) -> Caches:
    """Second and last cache of the first core, as Linux describes them."""
    sizes: dict[int, int] = {}
    for folder in described.glob("index*"):
        level, size, kind = (
            (folder / name).read_text().strip() if (folder / name).is_file() else ""
            for name in ("level", "size", "type")
        )
        found = re.fullmatch(r"(\d+)([KMG]?)", size)
        if level.isdecimal() and found and kind != "Instruction":
            sizes[int(level)] = int(found[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[found[2]]
    if not sizes:
        return USUAL_CACHES
    return Caches(sizes.get(2, sizes[max(sizes)]), sizes[max(sizes)])


def registers_of_this_machine(
    processor: Processor, described: Path = CPU_CACHES
) -> VectorRegisters:
    """Those of its processor, with the ways of the first core's first cache, as Linux tells."""
    for folder in sorted(described.glob("index*")):
        level, kind, ways, sets, line = (
            (folder / name).read_text().strip() if (folder / name).is_file() else ""
            for name in _GEOMETRY
        )
        counts = (ways, sets, line)
        if level == "1" and kind != "Instruction" and all(n.isdecimal() for n in counts):
            way_bytes = int(sets) * int(line)
            if int(ways) and way_bytes:
                return replace(processor.registers, ways=int(ways), way_bytes=way_bytes)
    return processor.registers


def processor_of(
    flags: Sequence[str], description: Path = CPU_DESCRIPTION
) -> Processor | None:  # fmt: skip
    """The processor that compile flags ask for; None for a GPU, or one that they leave open."""
    given = _for_a_cpu(flags)
    if not given:
        return None
    cpu = given.get(_CPU, "")
    features = _asked_features(given, description)
    if "avx512f" in features:
        return Processor.AVX512
    arm = given.get(_TRIPLE, "").startswith(("aarch64", "arm64"))
    if arm or "asimd" in features or (cpu == "host" and platform.machine() in _ARM):
        return Processor.NEON
    return Processor.AVX2 if {"avx2", "fma"} <= features else None


def has_byte_products(flags: Sequence[str], description: Path = CPU_DESCRIPTION) -> bool:
    """Whether the processor that compile flags ask for has AVX-512's VNNI."""
    features = _asked_features(_for_a_cpu(flags), description)
    return "avx512vnni" in {feature.replace("_", "") for feature in features}


def _for_a_cpu(flags: Sequence[str]) -> dict[str, str]:
    """Compile flags by name; none where they are for another kind of device."""
    given = dict(flag.partition("=")[::2] for flag in flags)
    return given if given.get(_BACKENDS) == "llvm-cpu" else {}


def _asked_features(given: Mapping[str, str], description: Path) -> set[str]:
    """What compile flags say of a CPU, and what the system says where they ask for this one."""
    cpu = given.get(_CPU, "")
    named = given.get(_CPU_FEATURES, "").replace("+", "").split(",")
    features = set(named) | _LEVELS.get(cpu, set())
    return features | _features(_described(description)) if cpu == "host" else features


def _described(description: Path) -> dict[str, str]:
    """The first value of each field; empty where the system does not say."""
    fields: dict[str, str] = {}
    if description.is_file():
        for line in description.read_text(errors="replace").splitlines():
            key, _, value = line.partition(":")
            fields.setdefault(key.strip(), value.strip())
    return fields


def _features(fields: Mapping[str, str]) -> set[str]:
    return set((fields.get("flags") or fields.get("Features") or "").split())


def _vector_bits(features: set[str]) -> int:
    if "avx512f" in features:
        return 512
    if {"avx2", "fma"} <= features:
        return 256
    if "asimd" in features or platform.machine() in _ARM:
        return 128
    return 0
