"""Peak rates of one core of this machine, from what its operating system says of it."""

from __future__ import annotations

import platform
from pathlib import Path

CPU_DESCRIPTION = Path("/proc/cpuinfo")
DEFAULT_GHZ = 2.5
"""Where the system does not tell: a server core's usual clock."""


def detected_gflops(description: Path = CPU_DESCRIPTION) -> dict[str, float]:
    """GFLOP/s of one core by element type; empty where the system does not say what it is.

    rate = clock x vector lanes x 2 multiply-add units x 2 operations; the width of the vectors is
    that of the widest instruction set. f16 and bf16 are computed in f32 unless AVX-512 has them.
    """
    if not description.is_file():
        return {}
    fields: dict[str, str] = {}
    for line in description.read_text(errors="replace").splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    features = set((fields.get("flags") or fields.get("Features") or "").split())
    bits = _vector_bits(features)
    if not bits:
        return {}
    ghz = float(fields["cpu MHz"]) / 1e3 if "cpu MHz" in fields else DEFAULT_GHZ
    f32 = ghz * (bits // 32) * 2 * 2
    half = f32 * (2 if "avx512_fp16" in features else 1)
    brain = f32 * (2 if "avx512_bf16" in features else 1)
    integer = f32 * (4 if "avx512_vnni" in features or "asimddp" in features else 1)
    rates = {"f64": f32 / 2, "f32": f32, "f16": half, "bf16": brain, "i8": integer}
    return {name: round(rate, 1) for name, rate in rates.items()}


def _vector_bits(features: set[str]) -> int:
    if "avx512f" in features:
        return 512
    if {"avx2", "fma"} <= features:
        return 256
    if "asimd" in features or platform.machine() in {"arm64", "aarch64"}:
        return 128
    return 0
