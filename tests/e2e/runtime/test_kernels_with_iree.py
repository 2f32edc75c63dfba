from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from layoutopt.pricing.analytic.compiled_kernels import Kernels
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.profiles.target import load_target
from layoutopt.runtime.progress import Silent

MakeMatmul = Callable[..., Benchmark]


def test_what_the_compiler_makes_of_a_matmul_for_a_gpu_that_is_not_here(
    matmul: MakeMatmul, tmp_path: Path
) -> None:
    target = load_target("mi355x")
    good = replace(matmul(512, 512, 512), flags=target.flags)
    bad = replace(good, body="%r = test.unknown %x")
    path = tmp_path / "kernels.jsonl"
    first, second = Kernels(path, target.place).read([good, bad], Silent())
    assert first.kernel is not None
    assert first.kernel.matrix_instructions > 0
    assert first.kernel.vgprs > 0
    assert first.kernel.tile is not None
    assert first.kernel.wave_size == 64
    assert second.kernel is None
    assert second.reason.startswith("compile-error: ")
    path.write_text(path.read_text() + '{"key": "half a li')  # a run that was killed
    again = Kernels(path, target.place).read([good, bad], Silent())
    assert again == [first, second]
