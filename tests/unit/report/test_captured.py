"""Counting read-write captured constants in text that iree-compile printed."""

from layoutopt.report.captured import count_copies, count_readwrite

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


def test_a_result_tied_to_a_constant_or_splat_is_counted() -> None:
    assert count_readwrite(FLOW.splitlines()) == 3


def test_copies_of_constants_and_their_bytes_are_counted() -> None:
    assert count_copies(STREAM.splitlines()) == (1, 512)
