from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from layoutopt.pricing.analytic.compiled_kernels import Kernels
from layoutopt.pricing.analytic.estimate import estimate_steps
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.profiles.target import Target, load_target
from layoutopt.runtime.progress import Silent

MakeMatmul = Callable[..., Benchmark]
GENERIC = """
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<128x768xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<128x768xf32>) -> tensor<128x768xf32>
  %r = linalg.generic {indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
      affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>],
    iterator_types = ["parallel", "parallel", "reduction"]}
    ins(%x, %w : tensor<128x768xf32>, tensor<768x768xf32>) outs(%f : tensor<128x768xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<128x768xf32>
"""


@pytest.fixture
def target() -> Target:
    return load_target("mi355x")


def test_what_the_compiler_makes_of_a_matmul_for_a_gpu_that_is_not_here(
    matmul: MakeMatmul, target: Target, tmp_path: Path
) -> None:
    good = replace(matmul(512, 512, 512), flags=target.flags)
    bad = replace(good, body="%r = test.unknown %x")
    path = tmp_path / "kernels.jsonl"
    first, second = Kernels(path, target.place).read([good, bad], Silent())
    (step,) = first.steps
    assert step.kernel is not None
    assert step.kernel.workgroups > 1
    assert sum(body.rounds * body.counts.matrix_cycles for body in step.kernel.bodies) > 0
    assert not second.steps
    assert second.reason.startswith("compile-error: ")
    path.write_text(path.read_text() + '{"key": "half a li')  # a run that was killed
    again = Kernels(path, target.place)
    assert again.known([good, bad]) == [first, second]
    assert again.read([good, bad], Silent()) == [first, second]


def test_the_matrix_instructions_do_all_products(
    matmul: MakeMatmul, target: Target, tmp_path: Path
) -> None:
    """16 x 16 x 4 products of f32 take 32 cycles of a SIMD."""
    made = replace(matmul(256, 512, 1024), flags=target.flags)
    (facts,) = Kernels(tmp_path / "kernels.jsonl", target.place).read([made], Silent())
    (kernel,) = [step.kernel for step in facts.steps if step.kernel is not None]
    cycles = kernel.workgroups * kernel.waves * sum(
        body.rounds * body.counts.matrix_cycles for body in kernel.bodies
    )  # fmt: skip
    assert cycles / 32 * (16 * 16 * 4) == pytest.approx(256 * 512 * 1024)


def test_one_kernel_has_one_price_however_it_is_spelled(
    matmul: MakeMatmul, target: Target, tmp_path: Path
) -> None:
    """The named op and the generic one of the same sizes compile to the same instructions."""
    named = replace(matmul(128, 768, 768), flags=target.flags)
    generic = replace(named, body=GENERIC)
    assert named.text != generic.text
    first, second = Kernels(tmp_path / "kernels.jsonl", target.place).read(
        [named, generic], Silent()
    )
    assert [s.kernel for s in first.steps] == [s.kernel for s in second.steps]
    assert estimate_steps(first.steps, target) == estimate_steps(second.steps, target)
