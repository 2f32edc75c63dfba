// The same matmul as in vector_of_64.mlir, but for the columns that registers hold.
#config = #iree_cpu.lowering_config<distribution = [196, 48, 0], vector_common_parallel = [7, 48, 0], vector_reduction = [0, 0, 1]>
#translation = #iree_codegen.translation_info<pipeline = #iree_cpu.pipeline<DoubleTilingExpert>>
func.func @main(%x: tensor<196x256xf32>, %w: tensor<256x192xf32>) -> tensor<196x192xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<196x192xf32>
  %fill = linalg.fill ins(%zero : f32) outs(%empty : tensor<196x192xf32>) -> tensor<196x192xf32>
  %y = linalg.matmul {compilation_info = #iree_codegen.compilation_info<lowering_config = #config, translation_info = #translation>} ins(%x, %w : tensor<196x256xf32>, tensor<256x192xf32>) outs(%fill : tensor<196x192xf32>) -> tensor<196x192xf32>
  return %y : tensor<196x192xf32>
}
