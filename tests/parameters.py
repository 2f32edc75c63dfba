"""Small models with external parameters, and files for them."""

import re
import textwrap
from pathlib import Path

import numpy as np

from layoutopt.ir.types import Array
from layoutopt.parameters.archive import ArchiveEntry, archive_of

FLAGS = (
    "--iree-hal-target-device=local",
    "--iree-hal-local-target-device-backends=llvm-cpu",
    "--iree-llvmcpu-target-cpu=host",
)

TIED = """
#ij = affine_map<(i, j) -> (i, j)>
#i = affine_map<(i, j) -> (i)>
util.global private @embedding = #stream.parameter.named<"model"::"embedding"> : tensor<64x32xf32>
util.global private @q = #stream.parameter.named<"model"::"q"> : tensor<32x16xf32>
util.global private @k = #stream.parameter.named<"model"::"k"> : tensor<32x16xf32>
util.global private @scale = #stream.parameter.named<"model"::"scale"> : tensor<32xf32>
func.func @main(%x: tensor<16x32xf32>) -> tensor<16x32xf32> {
  %w = util.global.load @embedding : tensor<64x32xf32>
  %q = util.global.load @q : tensor<32x16xf32>
  %k = util.global.load @k : tensor<32x16xf32>
  %s = util.global.load @scale : tensor<32xf32>
  %zero = arith.constant 0.0 : f32
  %qk = tensor.concat dim(1) %q, %k
      : (tensor<32x16xf32>, tensor<32x16xf32>) -> tensor<32x32xf32>
  %e0 = tensor.empty() : tensor<32x32xf32>
  %sq = linalg.generic {indexing_maps = [#ij, #i, #ij], iterator_types = ["parallel", "parallel"]}
      ins(%qk, %s : tensor<32x32xf32>, tensor<32xf32>) outs(%e0 : tensor<32x32xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %m = arith.mulf %a, %b : f32
    linalg.yield %m : f32
  } -> tensor<32x32xf32>
  %e1 = tensor.empty() : tensor<16x32xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %h0 = linalg.matmul ins(%x, %qk : tensor<16x32xf32>, tensor<32x32xf32>)
      outs(%f1 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %h1 = linalg.matmul ins(%h0, %sq : tensor<16x32xf32>, tensor<32x32xf32>)
      outs(%f1 : tensor<16x32xf32>) -> tensor<16x32xf32>
  %et = tensor.empty() : tensor<32x64xf32>
  %t = linalg.transpose ins(%w : tensor<64x32xf32>) outs(%et : tensor<32x64xf32>)
      permutation = [1, 0]
  %e2 = tensor.empty() : tensor<16x64xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<16x64xf32>) -> tensor<16x64xf32>
  %h2 = linalg.matmul ins(%h1, %t : tensor<16x32xf32>, tensor<32x64xf32>)
      outs(%f2 : tensor<16x64xf32>) -> tensor<16x64xf32>
  %h3 = linalg.matmul ins(%h2, %w : tensor<16x64xf32>, tensor<64x32xf32>)
      outs(%f1 : tensor<16x32xf32>) -> tensor<16x32xf32>
  return %h3 : tensor<16x32xf32>
}
"""
"""One weight read two ways, one put together from two, one computed."""


def tied_parameters() -> dict[str, Array]:
    rng = np.random.default_rng(0)
    sizes = {"embedding": (64, 32), "q": (32, 16), "k": (32, 16), "scale": (32,), "other": (7,)}
    return {key: rng.standard_normal(size, dtype=np.float32) for key, size in sizes.items()}


def write_archive(path: Path, arrays: dict[str, Array]) -> Path:
    archive = archive_of([ArchiveEntry(key, array.nbytes) for key, array in arrays.items()])
    contents = bytearray(archive.head.ljust(archive.size_bytes, b"\0"))
    for array, at in zip(arrays.values(), archive.offsets, strict=True):
        contents[at : at + array.nbytes] = array.tobytes()
    path.write_bytes(contents)
    return path


def planned(initializers: str, loads: str = "", parameters: str = "") -> str:
    """A module as a plan leaves it: weights that initializers compute."""
    made = re.findall(r"util.global private @(\w+) : (\S+)", initializers)
    loads += "".join(f"\n%{s}_read = util.global.load @{s} : {kind}" for s, kind in made)
    flags = ", ".join(f'"{flag}"' for flag in FLAGS)
    return textwrap.dedent(
        f"""
        module attributes {{layoutopt.compile_flags = [{flags}]}} {{
          {parameters}
          {initializers}
          func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
            {loads}
            return %x : tensor<4xf32>
          }}
        }}
        """
    )


def transposed(symbol: str, source: str, rows: int, columns: int, element: str = "f32") -> str:
    """A global that an initializer makes by a transpose of another one."""
    before, after = (f"tensor<{n}x{m}x{element}>" for n, m in ((rows, columns), (columns, rows)))
    return f"""
          util.global private @{symbol} : {after}
          util.initializer {{
            %w = util.global.load @{source} : {before}
            %e = tensor.empty() : {after}
            %t = linalg.transpose ins(%w : {before}) outs(%e : {after}) permutation = [1, 0]
            util.global.store %t, @{symbol} : {after}
            util.return
          }}"""
