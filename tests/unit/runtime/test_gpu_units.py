"""What the compiler says of GPUs: their lanes, memory and matrix instructions."""

from __future__ import annotations

import pytest

from layoutopt.compiler.gpu import MatrixInstruction
from layoutopt.profiles.target import load_target
from layoutopt.runtime.gpu_units import gpu_units, units_of


@pytest.mark.parametrize(
    ("name", "subgroup", "instruction"),
    [
        ("mi355x", 64, MatrixInstruction("MFMA_F32_16x16x32_F16", "f16", "f32", 16, 16, 32)),
        ("mi300x", 64, MatrixInstruction("MFMA_I32_16x16x32_I8", "i8", "i32", 16, 16, 32)),
        ("h100", 32, MatrixInstruction("NV_MMA_SYNC_F32_16x8x16_BF16", "bf16", "f32", 16, 8, 16)),
    ],
)
def test_a_gpu_is_asked_for(name: str, subgroup: int, instruction: MatrixInstruction) -> None:
    units = gpu_units(load_target(name).flags)
    assert units is not None
    assert units.subgroup == subgroup == load_target(name).machine.subgroup
    assert instruction in units.instructions
    assert units.most_threads == 1024
    assert units.memory_bytes >= 65536


def test_instructions_of_several_blocks_or_types_are_left_out() -> None:
    units = gpu_units(load_target("mi355x").flags)
    assert units is not None
    assert all(
        i.name.count("_") <= 4 and "B" not in i.name.split("_")[2] for i in units.instructions
    )


def test_a_processor_has_none() -> None:
    assert gpu_units(load_target("host").flags) is None


def test_flags_that_the_compiler_refuses_are_no_error() -> None:
    assert gpu_units(("--iree-hal-target-device=hip", "--iree-rocm-target=gfx12345")) is None


def test_a_target_that_says_little_has_none() -> None:
    assert units_of('#iree_gpu.target<arch = "x", subgroup_size_choices = [32]>') is None
