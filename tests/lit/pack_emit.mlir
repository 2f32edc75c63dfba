// RUN: python %S/emit_pack.py | iree-opt | filecheck %s

// A conversion to a layout with tiles is a linalg.pack; lowered, a pad and a transpose.

// CHECK-LABEL: func.func @pack(
// CHECK:         linalg.pack
// CHECK-SAME:      padding_value
// CHECK-SAME:      outer_dims_perm = [1, 0]
// CHECK-SAME:      inner_dims_pos = [1, 0]
// CHECK-SAME:      inner_tiles = [16, 8]
// CHECK-SAME:      tensor<30x64xf32> -> tensor<4x4x16x8xf32>
// CHECK-LABEL: func.func @lowered_pack(
// CHECK:         tensor.pad
// CHECK:         linalg.transpose
// CHECK-NOT:     linalg.pack
// CHECK-LABEL: func.func @unpack(
// CHECK:         linalg.unpack
// CHECK-SAME:      tensor<4x4x16x8xf32> -> tensor<30x64xf32>
// CHECK-LABEL: func.func @lowered_unpack(
// CHECK:         linalg.transpose
// CHECK:         tensor.extract_slice
// CHECK-NOT:     linalg.unpack
