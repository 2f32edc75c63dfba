"""Dispatches counted in text that iree-compile printed."""

from layoutopt.verification.dispatch_count import count_dispatches

FLOW = """
  flow.executable private @e {
    flow.executable.export public @d
  }
  util.global private @w : tensor<4xf32>
  util.initializer {
    %p = flow.tensor.constant #flow.parameter.named<"m"::"w"> : tensor<4xf32>
    %0 = flow.dispatch @e::@d(%p) : (tensor<4xf32>) -> tensor<4xf32>
    util.global.store %0, @w : tensor<4xf32>
    util.return
  }
  util.func public @main(%arg0: tensor<4xf32>) -> tensor<4xf32> {
    %0 = flow.dispatch @e::@d(%arg0) : (tensor<4xf32>) -> tensor<4xf32>
    %1:2 = flow.dispatch @e::@d(%0) : (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
    util.return %1#0 : tensor<4xf32>
  }
"""


def test_dispatches_of_initializers_are_no_part_of_a_call() -> None:
    assert count_dispatches(FLOW.splitlines()) == 2
