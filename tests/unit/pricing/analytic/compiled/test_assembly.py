from __future__ import annotations

import pytest

from layoutopt.pricing.analytic.compiled.assembly import Assembly, parse_assembly
from layoutopt.pricing.analytic.compiled.kernel_facts import least_facts
from layoutopt.pricing.analytic.compiled.launch import Call
from layoutopt.pricing.analytic.compiled.matrix_passes import matrix_cycles

KERNEL = """\
{name}:
\ts_load_dwordx2 s[2:3], s[0:1], 0x0
\ts_branch .LBB{n}_0
\t.p2align\t8
.LBB{n}_0:
\tv_mov_b32_e32 v1, 0
.LBB{n}_1:                               ; a loop
\tbuffer_load_dwordx4 v[4:7], v1, s[4:7], 0 offen
\tds_read_b128 v[8:11], v2
\tds_read2st64_b64 v[8:11], v2 offset1:5
\tds_write_b64 v2, v[4:5]
\ts_waitcnt vmcnt(0)
\ts_barrier
\tv_mfma_f32_16x16x32_bf16 v[0:3], v[4:7], v[8:11], v[0:3]
\tv_exp_f32_e32 v1, v1
\ts_cbranch_scc1 .LBB{n}_1
\ts_cbranch_execz .LBB{n}_3
\tglobal_store_dword v[0:1], v2, off
.LBB{n}_3:
\ts_endpgm
\t.section\t.rodata,"a",@progbits
\t.amdhsa_kernel {name}
\t.end_amdhsa_kernel
"""
METADATA = """\
  - .agpr_count:     0
    .group_segment_fixed_size: 50688
    .max_flat_workgroup_size: 256
    .name:           {name}
    .private_segment_fixed_size: 0
    .reqd_workgroup_size:
      - 128
      - 2
      - 1
    .sgpr_count:     23
    .vgpr_count:     170
    .vgpr_spill_count: 7
    .wavefront_size: 64
"""
NAMES = ("first", "second")


def text(kernel: str = KERNEL) -> str:
    bodies = "".join(kernel.format(name=name, n=n) for n, name in enumerate(NAMES))
    return f"{bodies}amdhsa.kernels:\n{''.join(METADATA.format(name=name) for name in NAMES)}"


@pytest.fixture
def kernel() -> Assembly:
    return parse_assembly(text())["second"]


def test_a_file_may_hold_several_kernels() -> None:
    assert tuple(parse_assembly(text())) == NAMES


def test_names_may_stand_in_quotes() -> None:
    quoted = (
        text()
        .replace("first:\n", '"first":\n')
        .replace("first\n    .private", "'first'\n    .private")
    )
    assert tuple(parse_assembly(quoted)) == NAMES


def test_registers_and_sizes(kernel: Assembly) -> None:
    assert (kernel.vgprs, kernel.spills, kernel.lds_bytes) == (170, 7, 50688)
    assert (kernel.workgroup_size, kernel.wave_size) == ((128, 2, 1), 64)


def test_what_stands_in_a_loop_is_counted_there(kernel: Assembly) -> None:
    outside, loop = kernel.bodies
    assert kernel.depths == (0, 1)
    assert (outside.vector_cycles, outside.stores, outside.matrix) == (4, 1, 0)
    assert (loop.matrix, loop.matrix_cycles, loop.vector_cycles) == (1, 16, 16)
    assert (loop.loads, loop.load_bytes, loop.barriers, loop.waits) == (1, 16, 1, 1)
    assert (loop.lds_reads, loop.lds_read_bytes, loop.lds_write_bytes) == (2, 32, 8)


@pytest.mark.parametrize(
    ("instruction", "size"),
    [("scratch_store_dwordx4 off, v[0:3], off", 16), ("scratch_load_dword v1, off, off", 4)],
)
def test_what_a_lane_keeps_in_memory_is_counted_in_bytes(instruction: str, size: int) -> None:
    spilling = KERNEL.replace("\ts_barrier\n", f"\ts_barrier\n\t{instruction}\n")
    assert parse_assembly(text(spilling))["first"].bodies[1].scratch_bytes == size


def test_of_a_kernel_that_is_not_understood_one_round_of_each_loop_is_sure(
    kernel: Assembly,
) -> None:
    facts = least_facts(kernel, Call((8, 2, 1)), 4096)
    assert (facts.workgroups, facts.workgroup_size, facts.touched_bytes) == (16, 256, 4096)
    assert [body.rounds for body in facts.bodies] == [1, 1]
    assert [body.counts for body in facts.bodies] == list(kernel.bodies)


def test_a_block_that_stands_behind_its_successor_is_no_loop() -> None:
    """Code out of line goes back to where control meets, and runs once."""
    moved = KERNEL.replace("\ts_cbranch_scc1 .LBB{n}_1\n", "\ts_cbranch_scc1 .LBB{n}_9\n").replace(
        "\ts_endpgm\n", "\ts_endpgm\n.LBB{n}_9:\n\tv_mov_b32_e32 v1, 0\n\ts_branch .LBB{n}_3\n"
    )
    assert parse_assembly(text(moved))["first"].depths == (0,)


def test_a_matrix_instruction_without_a_time_is_told() -> None:
    made = parse_assembly(text(KERNEL.replace("16x16x32", "64x64x32")))["first"]
    assert made.unknown == ("v_mfma_f32_64x64x32_bf16",)


def test_text_that_is_no_assembly() -> None:
    assert parse_assembly("module {}") == {}


@pytest.mark.parametrize(
    ("name", "cycles"),
    [
        ("v_mfma_f32_16x16x16_f16", 16),
        ("v_mfma_f32_16x16x4_f32", 32),
        ("v_mfma_f32_32x32x8_bf16", 32),
        ("v_mfma_f32_32x32x2_f32", 64),
        ("v_mfma_f32_4x4x4_16b_f16", 8),
        ("v_mfma_i32_16x16x64_i8", 16),
        ("v_mfma_f64_16x16x4_f64", 32),
        ("v_mfma_f32_16x16x128_f8f6f4", 32),
        ("v_smfmac_f32_32x32x16_f16", 32),
        ("v_mfma_f32_64x64x4_f32", None),
        ("v_fma_f32", None),
    ],
)
def test_times_of_matrix_instructions(name: str, cycles: int | None) -> None:
    assert matrix_cycles(name) == cycles
