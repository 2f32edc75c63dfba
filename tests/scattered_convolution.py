"""A pooling over a convolution of an interior-padded image, of which a slice is read."""

POOLED = """
func.func @main(%a0: tensor<1x1x6x2x3xf32>, %a1: tensor<3x2x2x1x4xf32>) ->
      (tensor<1x1x3x1x1xf32>) {
  %v1 = tensor.empty() : tensor<1x1x11x2x3xf32>
  %v2 = arith.constant 0.0 : f32
  %v3 = linalg.fill ins(%v2 : f32) outs(%v1 : tensor<1x1x11x2x3xf32>) -> tensor<1x1x11x2x3xf32>
  %v4 = tensor.insert_slice %a0 into %v3[0, 0, 0, 0, 0] [1, 1, 6, 2, 3] [1, 1, 2, 1, 1] :
      tensor<1x1x6x2x3xf32> into tensor<1x1x11x2x3xf32>
  %v5 = tensor.empty() : tensor<1x4x9x1x1xf32>
  %v6 = arith.constant 0.0 : f32
  %v7 = linalg.fill ins(%v6 : f32) outs(%v5 : tensor<1x4x9x1x1xf32>) -> tensor<1x4x9x1x1xf32>
  %v8 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8) -> (d0,
      d5, d2 * 1 + d6 * 1, d3 * 2 + d7 * 1, d4 * 1 + d8 * 2)>, affine_map<(d0, d1, d2, d3, d4,
      d5, d6, d7, d8) -> (d6, d7, d8, d5, d1)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7, d8)
      -> (d0, d1, d2, d3, d4)>], iterator_types = ["parallel", "parallel", "parallel",
      "parallel", "parallel", "reduction", "reduction", "reduction", "reduction"]} ins(%v4, %a1
      : tensor<1x1x11x2x3xf32>, tensor<3x2x2x1x4xf32>) outs(%v7 : tensor<1x4x9x1x1xf32>) {
  ^bb0(%x: f32, %y: f32, %o: f32):
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %o, %p : f32
    linalg.yield %s : f32
  } -> tensor<1x4x9x1x1xf32>
  %v9 = arith.constant 0xFF800000 : f32
  %v10 = tensor.empty() : tensor<1x1x3x1x1xf32>
  %v11 = linalg.fill ins(%v9 : f32) outs(%v10 : tensor<1x1x3x1x1xf32>) -> tensor<1x1x3x1x1xf32>
  %v12 = tensor.empty() : tensor<3x3x1xf32>
  %v13 = linalg.generic {indexing_maps = [affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1
      * 2 + d5 * 1, d2 * 2 + d6 * 2, d3 * 3 + d7 * 1, d4)>, affine_map<(d0, d1, d2, d3, d4, d5,
      d6, d7) -> (d5, d6, d7)>, affine_map<(d0, d1, d2, d3, d4, d5, d6, d7) -> (d0, d1, d2, d3,
      d4)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", "parallel",
      "reduction", "reduction", "reduction"]} ins(%v8, %v12 : tensor<1x4x9x1x1xf32>,
      tensor<3x3x1xf32>) outs(%v11 : tensor<1x1x3x1x1xf32>) {
  ^bb0(%x: f32, %w: f32, %o: f32):
    %s = arith.maximumf %o, %x : f32
    linalg.yield %s : f32
  } -> tensor<1x1x3x1x1xf32>
  %v14 = tensor.extract_slice %v13[0, 0, 0, 0, 0] [1, 1, 3, 1, 1] [1, 1, 1, 1, 2] :
      tensor<1x1x3x1x1xf32> to tensor<1x1x3x1x1xf32>
  return %v14 : tensor<1x1x3x1x1xf32>
}
"""
