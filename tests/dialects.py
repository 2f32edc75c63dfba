"""Small models in the dialects that frameworks export."""

from __future__ import annotations

STABLEHLO_FUNCTIONS = """
func.func @contracted(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  return %0 : tensor<16x16xf32>
}
func.func @looped(%x: tensor<16x16xf32>, %w: tensor<16x16xf32>) -> tensor<16x16xf32> {
  %c0 = stablehlo.constant dense<0> : tensor<i32>
  %c1 = stablehlo.constant dense<1> : tensor<i32>
  %c3 = stablehlo.constant dense<3> : tensor<i32>
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
  %r:2 = stablehlo.while(%i = %c0, %a = %y) : tensor<i32>, tensor<16x16xf32> cond {
    %p = stablehlo.compare LT, %i, %c3 : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %p : tensor<i1>
  } do {
    %n = stablehlo.add %i, %c1 : tensor<i32>
    %b = stablehlo.dot_general %a, %w, contracting_dims = [1] x [0]
      : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    stablehlo.return %n, %b : tensor<i32>, tensor<16x16xf32>
  }
  return %r#1 : tensor<16x16xf32>
}
func.func @dynamic(%x: tensor<?x64xf32>, %w: tensor<64x32xf32>) -> tensor<?x32xf32> {
  %0 = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
    : (tensor<?x64xf32>, tensor<64x32xf32>) -> tensor<?x32xf32>
  return %0 : tensor<?x32xf32>
}
"""
"""A contraction; a loop behind a contraction; a function of dynamic shape."""

STABLEHLO_GATHER = """
func.func @main(%table: tensor<100x64xf32>, %ids: tensor<12x1xi32>, %w: tensor<64x32xf32>) ->
        tensor<12x32xf32> {
  %0 = "stablehlo.gather"(%table, %ids) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
        collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>,
        indices_are_sorted = false, slice_sizes = array<i64: 1, 64>}> : (tensor<100x64xf32>,
        tensor<12x1xi32>) -> tensor<12x64xf32>
  %1 = stablehlo.dot_general %0, %w, contracting_dims = [1] x [0] : (tensor<12x64xf32>,
        tensor<64x32xf32>) -> tensor<12x32xf32>
  return %1 : tensor<12x32xf32>
}
"""
"""Rows of a table, then a contraction."""

TORCH = """
module {
  func.func @main(%x: !torch.vtensor<[4,8],f32>, %w: !torch.vtensor<[8,16],f32>) ->
        !torch.vtensor<[4,16],f32> {
    %0 = torch.aten.mm %x, %w : !torch.vtensor<[4,8],f32>, !torch.vtensor<[8,16],f32> ->
        !torch.vtensor<[4,16],f32>
    %1 = torch.aten.relu %0 : !torch.vtensor<[4,16],f32> -> !torch.vtensor<[4,16],f32>
    return %1 : !torch.vtensor<[4,16],f32>
  }
}
"""
"""What torch-mlir exports."""

VHLO = """
module {
  vhlo.func_v1 @main(%arg0: !vhlo.tensor_v1<8x16x!vhlo.f32_v1>, %arg1:
        !vhlo.tensor_v1<16x32x!vhlo.f32_v1>) -> (!vhlo.tensor_v1<8x32x!vhlo.f32_v1>) {
    %0 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<0.000000e+00> : tensor<f32>>}> : ()
        -> !vhlo.tensor_v1<!vhlo.f32_v1>
    %1 = "vhlo.dot_general_v2"(%arg0, %arg1) <{accumulation_type = #vhlo.type_v1<!vhlo.none_v1>,
        allow_imprecise_accumulation = #vhlo.type_v1<!vhlo.none_v1>, lhs_batching_dimensions =
        #vhlo.tensor_v1<dense<> : tensor<0xi64>>, lhs_component_count =
        #vhlo.type_v1<!vhlo.none_v1>, lhs_contracting_dimensions = #vhlo.tensor_v1<dense<1> :
        tensor<1xi64>>, lhs_precision_type = #vhlo.type_v1<!vhlo.none_v1>,
        num_primitive_operations = #vhlo.type_v1<!vhlo.none_v1>, precision_config =
        #vhlo.array_v1<[#vhlo<precision_v1 DEFAULT>, #vhlo<precision_v1 DEFAULT>]>,
        rhs_batching_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>, rhs_component_count =
        #vhlo.type_v1<!vhlo.none_v1>, rhs_contracting_dimensions = #vhlo.tensor_v1<dense<0> :
        tensor<1xi64>>, rhs_precision_type = #vhlo.type_v1<!vhlo.none_v1>}> :
        (!vhlo.tensor_v1<8x16x!vhlo.f32_v1>, !vhlo.tensor_v1<16x32x!vhlo.f32_v1>) ->
        !vhlo.tensor_v1<8x32x!vhlo.f32_v1>
    %2 = "vhlo.broadcast_in_dim_v1"(%0) <{broadcast_dimensions = #vhlo.tensor_v1<dense<> :
        tensor<0xi64>>}> : (!vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<8x32x!vhlo.f32_v1>
    %3 = "vhlo.maximum_v1"(%1, %2) : (!vhlo.tensor_v1<8x32x!vhlo.f32_v1>,
        !vhlo.tensor_v1<8x32x!vhlo.f32_v1>) -> !vhlo.tensor_v1<8x32x!vhlo.f32_v1>
    "vhlo.return_v1"(%3) : (!vhlo.tensor_v1<8x32x!vhlo.f32_v1>) -> ()
  } {arg_attrs = #vhlo.array_v1<[#vhlo.dict_v1<{}>, #vhlo.dict_v1<{}>]>, res_attrs =
        #vhlo.array_v1<[#vhlo.dict_v1<{}>]>, sym_visibility = #vhlo.string_v1<"public">}
}

"""
"""StableHLO as JAX and PyTorch/XLA keep it in files (a portable artifact)."""

TOSA = """
func.func @main(%x: tensor<1x8x8x4xi8> {tf.name = "image"}, %w: tensor<6x3x3x4xi8>,
        %b: tensor<6xi32>, %d: tensor<3x3x6x1xf32>, %c: tensor<6xf32>) ->
        (tensor<1x4x4x6xf32> {tf.name = "features"}) {
  %zx = "tosa.const"() <{values = dense<-128> : tensor<1xi8>}> : () -> tensor<1xi8>
  %zw = "tosa.const"() <{values = dense<0> : tensor<1xi8>}> : () -> tensor<1xi8>
  %zs = "tosa.const"() <{values = dense<0> : tensor<1xi32>}> : () -> tensor<1xi32>
  %zy = "tosa.const"() <{values = dense<-3> : tensor<1xi8>}> : () -> tensor<1xi8>
  %by = "tosa.const"() <{values = dense<1073741824> : tensor<6xi32>}> : () -> tensor<6xi32>
  %bits = "tosa.const"() <{values = dense<38> : tensor<6xi8>}> : () -> tensor<6xi8>
  %zf = "tosa.const"() <{values = dense<0.0> : tensor<1xf32>}> : () -> tensor<1xf32>
  %0 = "tosa.conv2d"(%x, %w, %b, %zx, %zw) <{acc_type = i32, dilation = array<i64: 1, 1>,
        pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}>
    : (tensor<1x8x8x4xi8>, tensor<6x3x3x4xi8>, tensor<6xi32>, tensor<1xi8>, tensor<1xi8>)
    -> tensor<1x8x8x6xi32>
  %1 = "tosa.rescale"(%0, %by, %bits, %zs, %zy) <{
        rounding_mode = #tosa<rounding_mode<DOUBLE_ROUND>>, scale32 = true, per_channel = true,
        input_unsigned = false, output_unsigned = false}>
    : (tensor<1x8x8x6xi32>, tensor<6xi32>, tensor<6xi8>, tensor<1xi32>, tensor<1xi8>)
    -> tensor<1x8x8x6xi8>
  %2 = tosa.cast %1 : (tensor<1x8x8x6xi8>) -> tensor<1x8x8x6xf32>
  %3 = "tosa.depthwise_conv2d"(%2, %d, %c, %zf, %zf) <{acc_type = f32,
        dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>}>
    : (tensor<1x8x8x6xf32>, tensor<3x3x6x1xf32>, tensor<6xf32>, tensor<1xf32>, tensor<1xf32>)
    -> tensor<1x8x8x6xf32>
  %4 = "tosa.max_pool2d"(%3) <{kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>,
        stride = array<i64: 2, 2>}> : (tensor<1x8x8x6xf32>) -> tensor<1x4x4x6xf32>
  return %4 : tensor<1x4x4x6xf32>
}
"""
"""Quantized and depthwise convolutions, rescaling and pooling; argument and result have names."""


def dot_with_algorithm(given: str, factors: str, sums: str, result: str, parts: int = 1) -> str:
    """StableHLO of a matmul that states its algorithm, ``main(3x4, 4x5)``."""
    return f"""
func.func @main(%x: tensor<3x4x{given}>, %w: tensor<4x5x{given}>) -> tensor<3x5x{result}> {{
  %y = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0], algorithm = <
      lhs_precision_type = {factors}, rhs_precision_type = {factors}, accumulation_type = {sums},
      lhs_component_count = 1, rhs_component_count = 1,
      num_primitive_operations = {parts}, allow_imprecise_accumulation = false>
      : (tensor<3x4x{given}>, tensor<4x5x{given}>) -> tensor<3x5x{result}>
  return %y : tensor<3x5x{result}>
}}
"""
