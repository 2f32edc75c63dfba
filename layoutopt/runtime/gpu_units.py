"""What the compiler says of the GPU that its flags name: asked once, by compiling nothing for it.

So a chip that no file of layoutopt describes has schedules too, those of its own instructions.
"""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path

from layoutopt.compiler.gpu import GpuUnits, MatrixInstruction
from layoutopt.compiler.installed import quirks
from layoutopt.runtime.compile import Phase, compile_to

_LIMIT_S = 60.0
_EMPTY = "func.func @main(%x: tensor<1xf32>) -> tensor<1xf32> { return %x : tensor<1xf32> }\n"


@lru_cache(maxsize=64)
def gpu_units(flags: tuple[str, ...]) -> GpuUnits | None:
    """The GPU that compile flags ask for; None for a processor, or where the compiler says nothing.

    Flags that the compiler does not take are no error here: compiling a model says so.
    """
    with tempfile.TemporaryDirectory() as folder:
        source, described = Path(folder) / "empty.mlir", Path(folder) / "described.mlir"
        source.write_text(_EMPTY)
        if not compile_to(source, Phase.TARGETS, described, flags, _LIMIT_S).ok:
            return None
        return units_of(described.read_text())


def units_of(text: str) -> GpuUnits | None:
    """The same from a module whose targets are written out."""
    words = quirks().gpu
    subgroup, threads, memory = (
        pattern.search(text) for pattern in (words.subgroup, words.most_threads, words.memory_bytes)
    )
    if subgroup is None or threads is None or memory is None:
        return None
    found: dict[str, MatrixInstruction] = {}
    for match in words.instruction.finditer(text):
        m, n, k = (int(match[part]) for part in ("m", "n", "k"))
        element, sums = (match[part].lower() for part in ("element", "sums"))
        found[match["name"]] = MatrixInstruction(match["name"], element, sums, m, n, k)
    return GpuUnits(int(subgroup[1]), int(threads[1]), int(memory[1]), tuple(found.values()))
