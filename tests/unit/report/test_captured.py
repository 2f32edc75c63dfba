"""Counting read-write captured constants in text that iree-compile printed."""

import pytest

from layoutopt.report.captured import count_copies, count_readwrite, starts_from_constant
from tests.parsing import lifted

FLOW = """
  util.func public @main(%arg0: !hal.buffer_view) -> !hal.buffer_view {
    %w = util.global.load immutable @w : tensor<128xf32>
    %cst = flow.tensor.constant dense<[1.0, 2.0]> : tensor<2xf32>
    %0 = hal.tensor.import %arg0 "input0" : !hal.buffer_view -> tensor<512x128xf32>
    %1 = flow.dispatch @a::@b(%0, %w) : (tensor<512x128xf32>, tensor<128xf32>) -> %w
    %2 = flow.dispatch @a::@c(%0, %w) : (tensor<512x128xf32>, tensor<128xf32>) -> tensor<4xf32>
    %3 = flow.tensor.splat %v : tensor<4xf32>
    %4:2 = flow.dispatch @a::@d(%3, %cst) : (tensor<4xf32>, tensor<2xf32>) -> (%3, %cst)
    %5 = flow.dispatch @a::@e(%1) : (tensor<128xf32>) -> %1
    %state = util.global.load @state : tensor<128xf32>
    %6 = flow.dispatch @a::@e(%state) : (tensor<128xf32>) -> %state
"""
STREAM = """
    %c512 = arith.constant 512 : index
    stream.cmd.copy %a[%c0], %b[%c0], %c512 : !stream.resource<constant>{%c512} -> !stream.resource<external>{%c512}
    stream.cmd.copy %a[%c0], %b[%c0], %c512 : !stream.resource<transient>{%c512} -> !stream.resource<external>{%c512}
"""  # noqa: E501 -- as it is printed


def test_a_result_tied_to_a_constant_is_counted_and_one_tied_to_a_splat_is_not() -> None:
    assert count_readwrite(FLOW.splitlines()) == 2


@pytest.mark.parametrize(("start", "counts"), [("%c", True), ("%splat", False), ("%wide", False)])
def test_only_constants_of_the_model_are_counted(start: str, counts: bool) -> None:
    graph = lifted(f"""func.func @f(%x: tensor<2x2xf32>, %y: tensor<2x2xf32>) -> tensor<2x2xf32> {{
      %c = arith.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
      %splat = arith.constant dense<1.0> : tensor<2x2xf32>
      %bias = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
      %e = tensor.empty() : tensor<2x2xf32>
      %wide = linalg.broadcast ins(%bias : tensor<2xf32>) outs(%e : tensor<2x2xf32>)
        dimensions = [0]
      %r = linalg.matmul ins(%x, %y : tensor<2x2xf32>, tensor<2x2xf32>)
        outs({start} : tensor<2x2xf32>) -> tensor<2x2xf32>
      return %r : tensor<2x2xf32>
    }}""")
    assert starts_from_constant(graph) == counts


def test_copies_of_constants_and_their_bytes_are_counted() -> None:
    assert count_copies(STREAM.splitlines()) == (1, 512)
