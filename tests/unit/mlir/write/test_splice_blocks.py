"""Plans of blocks go back into their blocks, those inside ahead of those around them."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.mlir.module import parse_module
from tests.splicing import unchanged
from tests.unit.mlir.read.test_blocks import BRANCHES, H, W, matmul, parsed

LOOP = f"""%b = linalg.map {{ math.exp }} ins(%x : {H}) outs(%e : {H})
  %te = tensor.empty() : {W}
  %t = linalg.transpose ins(%w : {W}) outs(%te : {W}) permutation = [1, 0]
  %r = scf.for %i = %c0 to %c7 step %c1 iter_args(%h = %x) -> ({H}) {{
    {matmul("%m", "%h", "%t")}
    %q = scf.if %p -> ({H}) {{
      {matmul("%o", "%m")} scf.yield %o : {H}
    }} else {{
      %a = linalg.map {{ arith.addf }} ins(%m, %b : {H}, {H}) outs(%f : {H})
      scf.yield %a : {H}
    }}
    scf.yield %q : {H}
  }}
"""
DYNAMIC = f"""%d = tensor.dim %y, %c0 : tensor<?x8xf32>
  %k = arith.addi %d, %c1 : index
  %l = scf.for %i = %c0 to %n step %c1 iter_args(%h = %x) -> ({H}) {{
    %ei = tensor.empty(%k) : tensor<?x8xf32>
    %fi = linalg.fill ins(%s : f32) outs(%ei : tensor<?x8xf32>) -> tensor<?x8xf32>
    %o = tensor.empty() : {H}
    %cut = tensor.extract_slice %fi[0, 0] [4, 8] [1, 1] : tensor<?x8xf32> to {H}
    {matmul("%m", "%cut")}
    scf.yield %m : {H}
  }}
  {matmul("%r", "%l")}
"""


@pytest.mark.parametrize("body", [LOOP, DYNAMIC, BRANCHES])
def test_modules_are_whole_afterwards(tmp_path: Path, body: str) -> None:
    module = parsed(tmp_path, body)
    before = str(module.operation).count("linalg.matmul")
    module.replace_all({place: unchanged(graph) for place, graph in enumerate(module.graphs)})
    assert module.operation.verify()
    text = str(module.operation)
    assert text.count("linalg.matmul") == before
    (tmp_path / "again.mlir").write_text(text, encoding="utf-8")
    again = parse_module(tmp_path / "again.mlir")
    assert again.names == module.names


def test_what_only_blocks_compute_now_is_computed_in_them(tmp_path: Path) -> None:
    module = parsed(tmp_path, LOOP)
    module.replace_all({place: unchanged(graph) for place, graph in enumerate(module.graphs)})
    text = str(module.operation)
    assert text.count("linalg.transpose") == 1
    assert text.index("scf.for") < text.index("linalg.transpose")


def test_a_block_alone_can_be_replaced(tmp_path: Path) -> None:
    module = parsed(tmp_path, LOOP)
    place = module.names.index("main/for.0/if.0.then")
    module.replace_all({place: unchanged(module.graphs[place])})
    assert module.operation.verify()
