"""A module with something odd beside a contraction that is planned."""

from __future__ import annotations

MATMUL = """
    %mm0 = arith.constant 0.0 : f32
    %mme = tensor.empty() : tensor<8x8xf32>
    %mmf = linalg.fill ins(%mm0 : f32) outs(%mme : tensor<8x8xf32>) -> tensor<8x8xf32>
    %mm = linalg.matmul ins(%x, %x : tensor<8x8xf32>, tensor<8x8xf32>)
      outs(%mmf : tensor<8x8xf32>) -> tensor<8x8xf32>
"""
"""What there is to plan in each of them."""


def function(body: str, arguments: str = "", results: str = "", returned: str = "") -> str:
    more = f", {arguments}" if arguments else ""
    kinds = f", {results}" if results else ""
    names = f", {returned}" if returned else ""
    return f"""
  func.func @main(%x: tensor<8x8xf32>{more}) -> (tensor<8x8xf32>{kinds}) {{
    {MATMUL}
    {body}
    return %mm{names} : tensor<8x8xf32>{kinds}
  }}
"""


def read(value: str, kind: str) -> str:
    return f"util.optimization_barrier {value} : {kind}"


T = "tensor<8x8xf32>"
