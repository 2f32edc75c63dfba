// RUN: python %S/lift_and_emit.py %s saturated | iree-opt | filecheck %s

// A strided insert into a fill becomes one generic: shift and mask for stride 2, division for 3.

// CHECK-LABEL: func.func @scatter(
// CHECK-NOT:     tensor.insert_slice
// CHECK:         linalg.generic
// CHECK-DAG:       arith.shrsi
// CHECK-DAG:       arith.remsi
// CHECK:           tensor.extract
// CHECK:           arith.select
// CHECK:           linalg.yield
util.func public @scatter(%x: tensor<2x3xf16>) -> tensor<6x10xf16> {
  %zero = arith.constant 0.0 : f16
  %empty = tensor.empty() : tensor<6x10xf16>
  %zeros = linalg.fill ins(%zero : f16) outs(%empty : tensor<6x10xf16>) -> tensor<6x10xf16>
  %y = tensor.insert_slice %x into %zeros[1, 0] [2, 3] [2, 3] : tensor<2x3xf16> into tensor<6x10xf16>
  util.return %y : tensor<6x10xf16>
}
