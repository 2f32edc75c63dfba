// RUN: iree-opt %s | filecheck %s

// The attributes of a layout are those of linalg.pack, as the compiler spells them.

// CHECK-LABEL: util.func public @pack(
// CHECK:         linalg.pack
// CHECK-SAME:      outer_dims_perm = [1, 0]
// CHECK-SAME:      inner_dims_pos = [1, 0]
// CHECK-SAME:      inner_tiles = [16, 8]
// CHECK-SAME:      tensor<32x64xf32> -> tensor<4x4x16x8xf32>
util.func public @pack(%source: tensor<32x64xf32>) -> tensor<4x4x16x8xf32> {
  %destination = tensor.empty() : tensor<4x4x16x8xf32>
  %packed = linalg.pack %source outer_dims_perm = [1, 0] inner_dims_pos = [1, 0] inner_tiles = [16, 8]
      into %destination : tensor<32x64xf32> -> tensor<4x4x16x8xf32>
  util.return %packed : tensor<4x4x16x8xf32>
}
