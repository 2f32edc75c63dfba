// RUN: python %S/lift_and_emit.py %s | iree-opt | filecheck %s

// A named op comes back under its own name, with strides, dilations and its fill; a splat constant
// under it becomes a fill too.

// CHECK-LABEL: func.func @convolution(
// CHECK-SAME:    %[[X:.*]]: tensor<1x9x9x4xf32>, %[[W:.*]]: tensor<3x3x4x8xf32>
// CHECK:         %[[INIT:.*]] = linalg.fill
// CHECK:         linalg.conv_2d_nhwc_hwcf {dilations = dense<2> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>}
// CHECK-SAME:      ins(%[[X]], %[[W]] : tensor<1x9x9x4xf32>, tensor<3x3x4x8xf32>) outs(%[[INIT]]
util.func public @convolution(%x: tensor<1x9x9x4xf32>, %w: tensor<3x3x4x8xf32>) -> tensor<1x3x5x8xf32> {
  %zero = arith.constant dense<0.0> : tensor<1x3x5x8xf32>
  %y = linalg.conv_2d_nhwc_hwcf {dilations = dense<2> : tensor<2xi64>, strides = dense<[2, 1]> : tensor<2xi64>}
    ins(%x, %w : tensor<1x9x9x4xf32>, tensor<3x3x4x8xf32>) outs(%zero : tensor<1x3x5x8xf32>) -> tensor<1x3x5x8xf32>
  util.return %y : tensor<1x3x5x8xf32>
}
