from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layoutopt.pricing.analytic.kernel import Kernel, parse_kernel, parse_tile, read_kernels
from layoutopt.profiles.machine import Machine, WorkgroupTile

ASSEMBLY = """\
\t.amdgcn_target "amdgpu9.50-amd-amdhsa-unknown-gfx950"
\t.globl\tf_dispatch_0_matmul
f_dispatch_0_matmul:
\ts_load_dwordx2 s[2:3], s[0:1], 0x0
\tv_mfma_f32_16x16x32_f16 v[0:3], v[4:7], v[8:11], 0
\tv_mfma_f32_16x16x32_f16 v[0:3], v[4:7], v[8:11], v[0:3]
\ts_barrier
\ts_endpgm
; v_mfma_ in a comment does not count
\t.amdhsa_kernel f_dispatch_0_matmul
\t\t.amdhsa_group_segment_fixed_size 50688
\t.end_amdhsa_kernel
amdhsa.kernels:
  - .agpr_count:     0
    .group_segment_fixed_size: 50688
    .max_flat_workgroup_size: 256
    .name:           f_dispatch_0_matmul
    .sgpr_count:     23
    .sgpr_spill_count: 1
    .vgpr_count:     170
    .vgpr_spill_count: 7
    .wavefront_size: 64
"""
CONFIGURED = """\
%11 = linalg.matmul {lowering_config = #iree_gpu.lowering_config<{mma_kind = \
#iree_gpu.mma_layout<MFMA_F32_16x16x32_F16>, promote_operands = [0, 1], \
reduction = [0, 0, 4], subgroup = [2, 4, 0], workgroup = [64, 128, 0]}>}
"""
GROUPED = """\
#iree_gpu.lowering_config<{mma_kind = #iree_gpu.mma_layout<MFMA_F32_4x4x4x16B_F16>, \
padding = [1, 1, 8, 16, 8, 8], reduction = [0, 0, 0, 0, 0, 2], workgroup = [1, 1, 8, 16, 8, 0]}>
"""
MACHINE = Machine(vgprs=512, lds_bytes=163840, simds=4, most_waves=8)


def test_facts_of_a_kernel() -> None:
    assert parse_kernel(ASSEMBLY, CONFIGURED) == Kernel(
        "f_dispatch_0_matmul", 2, 170, 7, 50688, 256, 64, WorkgroupTile(64, 128, 128)
    )


def test_a_kernel_without_matrix_instructions_has_no_tile() -> None:
    plain = parse_kernel(ASSEMBLY.replace("v_mfma", "v_fma"), "workgroup = [1, 16, 4, 0]")
    assert (plain.matrix_instructions, plain.tile) == (0, None)


def test_outer_workgroup_sizes_multiply_the_rows() -> None:
    assert parse_tile(GROUPED) == WorkgroupTile(128, 8, 8)


def test_text_that_is_no_assembly() -> None:
    with pytest.raises(ValueError, match="assembly without kernel metadata"):
        parse_kernel("module {}")


@pytest.mark.parametrize(
    ("vgprs", "lds_bytes", "waves"), [(170, 50688, 2), (170, 0, 2), (64, 160000, 1), (8, 0, 8)]
)
def test_occupancy(vgprs: int, lds_bytes: int, waves: int) -> None:
    kernel = replace(parse_kernel(ASSEMBLY), vgprs=vgprs, lds_bytes=lds_bytes)
    assert kernel.waves_per_simd(MACHINE) == waves


def test_a_folder_of_dumps(tmp_path: Path) -> None:
    (tmp_path / "module_f_dispatch_0_rocm_hsaco_fb.rocmasm").write_text(ASSEMBLY)
    (tmp_path / "configured_module_f_dispatch_0.mlir").write_text(CONFIGURED)
    (tmp_path / "module_f_dispatch_0.mlir").write_text("")
    (kernel,) = read_kernels(tmp_path)
    assert kernel.tile == WorkgroupTile(64, 128, 128)
