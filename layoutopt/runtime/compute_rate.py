"""How many operations a second this machine's cores do at most, timed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import ModelCall, time_models
from layoutopt.runtime.setting import RunSetting
from layoutopt.runtime.workspace import workspace

_ELEMENTS = 1 << 16
"""Of each thread: read from a cache, and enough work that a call counts for nothing."""
_CHAINS = (6, 12)
"""That do not wait for each other. A core with 512-bit units has ten multiply-adds under way; one
that does 256 bits in two halves has five, and twelve chains take turns in its 16 registers."""
_STEPS = 40
_COMPILE_S = 60.0
_SAMPLES = 15
_BUDGET_S = 0.5


@lru_cache
def compute_gflops(flags: tuple[str, ...], setting: RunSetting) -> float | None:
    """GFLOP/s (1e9 operations a second) of f32 multiply-adds of all threads together.

    Of the fastest of some runs of kernels that do nothing else, compiled with ``flags``; None where
    they do not compile or run.
    """
    size = _ELEMENTS * setting.threads
    with workspace() as folder:
        source, module = folder / "rate.mlir", folder / "rate.vmfb"
        source.write_text("\n".join(line for chains in _CHAINS for line in _text(size, chains)))
        if not compile_file(source, module, flags, _COMPILE_S).ok:
            return None
        inputs = [np.ones(size, np.float32)]
        calls = [ModelCall(module, f"rate{chains}", inputs) for chains in _CHAINS]
        timed = time_models(calls, setting, _SAMPLES, _BUDGET_S)
    rates = [
        _operations(chains) * size / min(found.samples_ns)
        for chains, found in zip(_CHAINS, timed, strict=True)
        if found.ok
    ]
    return max(rates, default=None)


def _operations(chains: int) -> int:
    """Of each element."""
    return chains * (2 * _STEPS + 2) - 1


def _text(size: int, count: int) -> Iterator[str]:
    tensor = f"tensor<{size}xf32>"
    chains = range(count)
    yield f"func.func @rate{count}(%x: {tensor}) -> {tensor} {{"
    yield "  %m = arith.constant 0.999 : f32"
    yield "  %a = arith.constant 0.001 : f32"
    for c in chains:
        yield f"  %k{c} = arith.constant {c}.0 : f32"
    yield f"  %empty = tensor.empty() : {tensor}"
    along = "affine_map<(i) -> (i)>"
    yield f"  %y = linalg.generic {{indexing_maps = [{along}, {along}],"
    yield '      iterator_types = ["parallel"]}'
    yield f"      ins(%x : {tensor}) outs(%empty : {tensor}) {{"
    yield "  ^bb0(%in: f32, %out: f32):"
    for c in chains:
        yield f"    %v{c}_0 = arith.addf %in, %k{c} : f32"
    for step in range(_STEPS):
        for c in chains:
            yield f"    %v{c}_{step + 1} = math.fma %v{c}_{step}, %m, %a : f32"
    yield f"    %s0 = arith.addf %v0_{_STEPS}, %v1_{_STEPS} : f32"
    for c in chains[2:]:
        yield f"    %s{c - 1} = arith.addf %s{c - 2}, %v{c}_{_STEPS} : f32"
    yield f"    linalg.yield %s{count - 2} : f32"
    yield f"  }} -> {tensor}"
    yield f"  return %y : {tensor}"
    yield "}"
