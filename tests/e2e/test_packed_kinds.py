"""Every kind of contraction over padded tiles, compiled, run and verified by IREE."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import layoutopt
from layoutopt.options import Effort, Objective, Options
from layoutopt.profiles.target import target_text
from tests.marks import long
from tests.named_ops import Case, side_by_side

MATMULS = (
    Case("matmul", "5x11xf32", "11x13xf32", "5x13xf32"),
    Case("matmul", "5x11xi8", "11x13xi8", "5x13xi32"),
    Case("matmul", "5x11xbf16", "11x13xbf16", "5x13xf32"),
    Case("matmul", "5x11xf16", "11x13xf16", "5x13xf32"),
    Case("matmul", "3x11xf32", "11x13xf32", "3x13xf32"),
    Case("batch_matmul", "3x5x7xf32", "3x7x9xf32", "3x5x9xf32"),
    Case("vecmat", "11xf32", "11x13xf32", "13xf32"),
    Case("matvec", "13x11xf32", "11xf32", "13xf32"),
)
CONVOLUTIONS = (
    Case("conv_1d_nwc_wcf", "1x10x5xf32", "3x5x9xf32", "1x8x9xf32"),
    Case("conv_2d_nchw_fchw", "1x5x6x6xf32", "9x5x3x3xf32", "1x9x4x4xf32"),
    Case("conv_2d_nhwc_hwcf", "1x6x6x5xi8", "3x3x5x9xi8", "1x4x4x9xi32"),
    Case("conv_3d_ndhwc_dhwcf", "1x4x4x4x3xf32", "2x2x2x3x5xf32", "1x3x3x3x5xf32"),
    Case("depthwise_conv_2d_nchw_chw", "1x10x6x6xf32", "10x3x3xf32", "1x10x4x4xf32"),
    Case("conv_2d_ngchw_gfchw", "1x2x3x6x6xf32", "2x5x3x3x3xf32", "1x2x5x4x4xf32"),
)


@pytest.mark.parametrize(
    ("cases", "emit", "tile"),
    [
        (MATMULS, "mmt4d", [8, 8, 1]),
        long((*MATMULS, *CONVOLUTIONS), "generic", [4, 8, 4]),
    ],
    ids=["mmt4d", "generic"],
)
def test_all_kinds(cases: tuple[Case, ...], emit: str, tile: list[int], tmp_path: Path) -> None:
    rows = "\n".join(
        f'{element} = [{{ tile = {tile}, emit = "{emit}" }}]'
        for element in ("f32", "f16", "bf16", "i8")
    )
    profile = tmp_path / "own.toml"
    start = target_text("host").partition("[packing.blocks]")[0]
    start = re.sub(r"default = \[\]\n.*?\n\n", "default = []\n\n", start, flags=re.DOTALL)
    profile.write_text(f"{start}[packing.blocks]\n{rows}\n", encoding="utf-8")
    source = tmp_path / "kinds.mlir"
    source.write_text(side_by_side(cases), encoding="utf-8")
    options = Options(effort=Effort.QUICK, objective=Objective.CONVERSIONS, cache=tmp_path)
    report = layoutopt.optimize(source, str(profile), options).report
    assert report.verification is not None
    assert report.verification.passed
    assert report.contractions is not None
    assert report.contractions.unpacked == ()
    assert report.contractions.packed == len(cases)
