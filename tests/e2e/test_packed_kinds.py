"""Every kind of contraction over padded tiles, compiled, run and verified by IREE."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

import layoutopt
from layoutopt.options import Options
from layoutopt.profiles.target import target_text


@dataclass(frozen=True)
class Case:
    """A named op over tensors of these types; no size is a multiple of a tile."""

    op: str
    lhs: str
    rhs: str
    result: str

    def text(self, number: int) -> str:
        """Lines that compute ``%y<number>`` from the arguments ``%a`` and ``%b``."""
        element = self.result.rsplit("x", 1)[1]
        zero = "0.0" if element.startswith("f") else "0"
        a, b, y = (f"tensor<{t}>" for t in (self.lhs, self.rhs, self.result))
        return f"""
  %z{number} = arith.constant {zero} : {element}
  %e{number} = tensor.empty() : {y}
  %f{number} = linalg.fill ins(%z{number} : {element}) outs(%e{number} : {y}) -> {y}
  %y{number} = linalg.{self.op} ins(%a{number}, %b{number} : {a}, {b})
      outs(%f{number} : {y}) -> {y}"""


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


def model(cases: tuple[Case, ...]) -> str:
    takes = ", ".join(
        f"%a{i}: tensor<{c.lhs}>, %b{i}: tensor<{c.rhs}>" for i, c in enumerate(cases)
    )
    types = ", ".join(f"tensor<{c.result}>" for c in cases)
    values = ", ".join(f"%y{i}" for i in range(len(cases)))
    body = "".join(c.text(i) for i, c in enumerate(cases))
    return f"func.func @main({takes}) -> ({types}) {{{body}\n  return {values} : {types}\n}}\n"


@pytest.mark.parametrize(
    ("cases", "emit", "tile"),
    [
        (MATMULS, "mmt4d", [8, 8, 1]),
        ((*MATMULS, *CONVOLUTIONS), "generic", [4, 8, 4]),
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
    source.write_text(model(cases), encoding="utf-8")
    options = Options(objective="conversions", cache=tmp_path)
    report = layoutopt.optimize(source, str(profile), options).report
    assert report.verification is not None
    assert report.verification.passed
    assert report.contractions is not None
    assert report.contractions.unpacked == ()
    assert report.contractions.packed == len(cases)
