module @jit__lambda attributes {jax.uses_shape_polymorphism = false, mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  vhlo.func_v1 @main(%arg0: !vhlo.tensor_v1<1x16x4x8x!vhlo.bf16_v1>, %arg1: !vhlo.tensor_v1<1x16x4x8x!vhlo.bf16_v1>, %arg2: !vhlo.tensor_v1<1x16x4x8x!vhlo.bf16_v1>) -> (!vhlo.tensor_v1<1x16x4x8x!vhlo.bf16_v1>) {
    %0 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<0.000000e+00> : tensor<f32>>}> : () -> !vhlo.tensor_v1<!vhlo.f32_v1>
    %1 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<0xFF800000> : tensor<f32>>}> : () -> !vhlo.tensor_v1<!vhlo.f32_v1>
    %2 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<-2.38197633E+38> : tensor<f32>>}> : () -> !vhlo.tensor_v1<!vhlo.f32_v1>
    %3 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<true> : tensor<i1>>}> : () -> !vhlo.tensor_v1<!vhlo.bool_v1>
    %4 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<0.353553385> : tensor<f32>>}> : () -> !vhlo.tensor_v1<!vhlo.f32_v1>
    %5 = "vhlo.reshape_v1"(%arg0) : (!vhlo.tensor_v1<1x16x4x8x!vhlo.bf16_v1>) -> !vhlo.tensor_v1<1x16x4x1x8x!vhlo.bf16_v1>
    %6 = "vhlo.dot_general_v2"(%5, %arg1) <{accumulation_type = #vhlo.type_v1<!vhlo.f32_v1>, allow_imprecise_accumulation = #vhlo.bool_v1<false>, lhs_batching_dimensions = #vhlo.tensor_v1<dense<[0, 2]> : tensor<2xi64>>, lhs_component_count = #vhlo.integer_v1<1 : i64>, lhs_contracting_dimensions = #vhlo.tensor_v1<dense<4> : tensor<1xi64>>, lhs_precision_type = #vhlo.type_v1<!vhlo.bf16_v1>, num_primitive_operations = #vhlo.integer_v1<1 : i64>, precision_config = #vhlo.array_v1<[#vhlo<precision_v1 DEFAULT>, #vhlo<precision_v1 DEFAULT>]>, rhs_batching_dimensions = #vhlo.tensor_v1<dense<[0, 2]> : tensor<2xi64>>, rhs_component_count = #vhlo.integer_v1<1 : i64>, rhs_contracting_dimensions = #vhlo.tensor_v1<dense<3> : tensor<1xi64>>, rhs_precision_type = #vhlo.type_v1<!vhlo.bf16_v1>}> : (!vhlo.tensor_v1<1x16x4x1x8x!vhlo.bf16_v1>, !vhlo.tensor_v1<1x16x4x8x!vhlo.bf16_v1>) -> !vhlo.tensor_v1<1x4x16x1x16x!vhlo.f32_v1>
    %7 = "vhlo.broadcast_in_dim_v1"(%4) <{broadcast_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>}> : (!vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x4x16x1x16x!vhlo.f32_v1>
    %8 = "vhlo.multiply_v1"(%6, %7) : (!vhlo.tensor_v1<1x4x16x1x16x!vhlo.f32_v1>, !vhlo.tensor_v1<1x4x16x1x16x!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x4x16x1x16x!vhlo.f32_v1>
    %9 = "vhlo.broadcast_in_dim_v1"(%3) <{broadcast_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>}> : (!vhlo.tensor_v1<!vhlo.bool_v1>) -> !vhlo.tensor_v1<1x4x16x16x!vhlo.bool_v1>
    %10 = "vhlo.broadcast_in_dim_v1"(%3) <{broadcast_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>}> : (!vhlo.tensor_v1<!vhlo.bool_v1>) -> !vhlo.tensor_v1<16x16x!vhlo.bool_v1>
    %11 = "vhlo.call_v1"(%10) <{callee = #vhlo.string_v1<"tril">}> : (!vhlo.tensor_v1<16x16x!vhlo.bool_v1>) -> !vhlo.tensor_v1<16x16x!vhlo.bool_v1>
    %12 = "vhlo.broadcast_in_dim_v1"(%11) <{broadcast_dimensions = #vhlo.tensor_v1<dense<[2, 3]> : tensor<2xi64>>}> : (!vhlo.tensor_v1<16x16x!vhlo.bool_v1>) -> !vhlo.tensor_v1<1x1x16x16x!vhlo.bool_v1>
    %13 = "vhlo.broadcast_in_dim_v1"(%12) <{broadcast_dimensions = #vhlo.tensor_v1<dense<[0, 1, 2, 3]> : tensor<4xi64>>}> : (!vhlo.tensor_v1<1x1x16x16x!vhlo.bool_v1>) -> !vhlo.tensor_v1<1x4x16x16x!vhlo.bool_v1>
    %14 = "vhlo.and_v1"(%9, %13) : (!vhlo.tensor_v1<1x4x16x16x!vhlo.bool_v1>, !vhlo.tensor_v1<1x4x16x16x!vhlo.bool_v1>) -> !vhlo.tensor_v1<1x4x16x16x!vhlo.bool_v1>
    %15 = "vhlo.call_v1"(%14, %8, %2) <{callee = #vhlo.string_v1<"_where">}> : (!vhlo.tensor_v1<1x4x16x16x!vhlo.bool_v1>, !vhlo.tensor_v1<1x4x16x1x16x!vhlo.f32_v1>, !vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>
    %16 = "vhlo.reduce_v1"(%15, %1) <{dimensions = #vhlo.tensor_v1<dense<4> : tensor<1xi64>>}> ({
    ^bb0(%arg3: !vhlo.tensor_v1<!vhlo.f32_v1>, %arg4: !vhlo.tensor_v1<!vhlo.f32_v1>):
      %32 = "vhlo.maximum_v1"(%arg3, %arg4) : (!vhlo.tensor_v1<!vhlo.f32_v1>, !vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<!vhlo.f32_v1>
      "vhlo.return_v1"(%32) : (!vhlo.tensor_v1<!vhlo.f32_v1>) -> ()
    }) : (!vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>, !vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x1x4x16x!vhlo.f32_v1>
    %17 = "vhlo.broadcast_in_dim_v1"(%1) <{broadcast_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>}> : (!vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x1x4x16x!vhlo.f32_v1>
    %18 = "vhlo.maximum_v1"(%17, %16) : (!vhlo.tensor_v1<1x1x4x16x!vhlo.f32_v1>, !vhlo.tensor_v1<1x1x4x16x!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x1x4x16x!vhlo.f32_v1>
    %19 = "vhlo.broadcast_in_dim_v1"(%18) <{broadcast_dimensions = #vhlo.tensor_v1<dense<[0, 1, 2, 3]> : tensor<4xi64>>}> : (!vhlo.tensor_v1<1x1x4x16x!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x1x4x16x1x!vhlo.f32_v1>
    %20 = "vhlo.broadcast_in_dim_v1"(%19) <{broadcast_dimensions = #vhlo.tensor_v1<dense<[0, 1, 2, 3, 4]> : tensor<5xi64>>}> : (!vhlo.tensor_v1<1x1x4x16x1x!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>
    %21 = "vhlo.subtract_v1"(%15, %20) : (!vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>, !vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>
    %22 = "vhlo.exponential_v2"(%21) <{result_accuracy = #vhlo.result_accuracy_v1<atol = 0.000000e+00, rtol = 0.000000e+00, ulps = 0, mode = #vhlo<result_accuracy_mode_v1 DEFAULT>>}> : (!vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>
    %23 = "vhlo.reduce_v1"(%22, %0) <{dimensions = #vhlo.tensor_v1<dense<4> : tensor<1xi64>>}> ({
    ^bb0(%arg3: !vhlo.tensor_v1<!vhlo.f32_v1>, %arg4: !vhlo.tensor_v1<!vhlo.f32_v1>):
      %32 = "vhlo.add_v1"(%arg3, %arg4) : (!vhlo.tensor_v1<!vhlo.f32_v1>, !vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<!vhlo.f32_v1>
      "vhlo.return_v1"(%32) : (!vhlo.tensor_v1<!vhlo.f32_v1>) -> ()
    }) : (!vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>, !vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x1x4x16x!vhlo.f32_v1>
    %24 = "vhlo.broadcast_in_dim_v1"(%23) <{broadcast_dimensions = #vhlo.tensor_v1<dense<[0, 1, 2, 3]> : tensor<4xi64>>}> : (!vhlo.tensor_v1<1x1x4x16x!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x1x4x16x1x!vhlo.f32_v1>
    %25 = "vhlo.broadcast_in_dim_v1"(%24) <{broadcast_dimensions = #vhlo.tensor_v1<dense<[0, 1, 2, 3, 4]> : tensor<5xi64>>}> : (!vhlo.tensor_v1<1x1x4x16x1x!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>
    %26 = "vhlo.divide_v1"(%22, %25) : (!vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>, !vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>
    %27 = "vhlo.convert_v1"(%26) : (!vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x1x4x16x16x!vhlo.bf16_v1>
    %28 = "vhlo.dot_general_v2"(%arg2, %27) <{accumulation_type = #vhlo.type_v1<!vhlo.none_v1>, allow_imprecise_accumulation = #vhlo.type_v1<!vhlo.none_v1>, lhs_batching_dimensions = #vhlo.tensor_v1<dense<[0, 2]> : tensor<2xi64>>, lhs_component_count = #vhlo.type_v1<!vhlo.none_v1>, lhs_contracting_dimensions = #vhlo.tensor_v1<dense<1> : tensor<1xi64>>, lhs_precision_type = #vhlo.type_v1<!vhlo.none_v1>, num_primitive_operations = #vhlo.type_v1<!vhlo.none_v1>, precision_config = #vhlo.array_v1<[#vhlo<precision_v1 DEFAULT>, #vhlo<precision_v1 DEFAULT>]>, rhs_batching_dimensions = #vhlo.tensor_v1<dense<[1, 2]> : tensor<2xi64>>, rhs_component_count = #vhlo.type_v1<!vhlo.none_v1>, rhs_contracting_dimensions = #vhlo.tensor_v1<dense<4> : tensor<1xi64>>, rhs_precision_type = #vhlo.type_v1<!vhlo.none_v1>}> : (!vhlo.tensor_v1<1x16x4x8x!vhlo.bf16_v1>, !vhlo.tensor_v1<1x1x4x16x16x!vhlo.bf16_v1>) -> !vhlo.tensor_v1<1x4x8x1x16x!vhlo.bf16_v1>
    %29 = "vhlo.transpose_v1"(%28) <{permutation = #vhlo.tensor_v1<dense<[3, 0, 4, 1, 2]> : tensor<5xi64>>}> : (!vhlo.tensor_v1<1x4x8x1x16x!vhlo.bf16_v1>) -> !vhlo.tensor_v1<1x1x16x4x8x!vhlo.bf16_v1>
    %30 = "vhlo.transpose_v1"(%29) <{permutation = #vhlo.tensor_v1<dense<[1, 2, 3, 0, 4]> : tensor<5xi64>>}> : (!vhlo.tensor_v1<1x1x16x4x8x!vhlo.bf16_v1>) -> !vhlo.tensor_v1<1x16x4x1x8x!vhlo.bf16_v1>
    %31 = "vhlo.reshape_v1"(%30) : (!vhlo.tensor_v1<1x16x4x1x8x!vhlo.bf16_v1>) -> !vhlo.tensor_v1<1x16x4x8x!vhlo.bf16_v1>
    "vhlo.return_v1"(%31) : (!vhlo.tensor_v1<1x16x4x8x!vhlo.bf16_v1>) -> ()
  } {arg_attrs = #vhlo.array_v1<[#vhlo.dict_v1<{}>, #vhlo.dict_v1<{}>, #vhlo.dict_v1<{}>]>, res_attrs = #vhlo.array_v1<[#vhlo.dict_v1<{#vhlo.string_v1<"jax.result_info"> = #vhlo.string_v1<"result">}>]>, sym_visibility = #vhlo.string_v1<"public">}
  vhlo.func_v1 @tril(%arg0: !vhlo.tensor_v1<16x16x!vhlo.bool_v1>) -> (!vhlo.tensor_v1<16x16x!vhlo.bool_v1>) {
    %0 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<false> : tensor<i1>>}> : () -> !vhlo.tensor_v1<!vhlo.bool_v1>
    %1 = "vhlo.constant_v1"() <{value = #vhlo.tensor_v1<dense<0> : tensor<i32>>}> : () -> !vhlo.tensor_v1<!vhlo.i32_v1>
    %2 = "vhlo.iota_v1"() <{iota_dimension = #vhlo.integer_v1<0 : i64>}> : () -> !vhlo.tensor_v1<16x16x!vhlo.i32_v1>
    %3 = "vhlo.broadcast_in_dim_v1"(%1) <{broadcast_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>}> : (!vhlo.tensor_v1<!vhlo.i32_v1>) -> !vhlo.tensor_v1<16x16x!vhlo.i32_v1>
    %4 = "vhlo.add_v1"(%2, %3) : (!vhlo.tensor_v1<16x16x!vhlo.i32_v1>, !vhlo.tensor_v1<16x16x!vhlo.i32_v1>) -> !vhlo.tensor_v1<16x16x!vhlo.i32_v1>
    %5 = "vhlo.iota_v1"() <{iota_dimension = #vhlo.integer_v1<1 : i64>}> : () -> !vhlo.tensor_v1<16x16x!vhlo.i32_v1>
    %6 = "vhlo.compare_v1"(%4, %5) <{compare_type = #vhlo<comparison_type_v1 SIGNED>, comparison_direction = #vhlo<comparison_direction_v1 GE>}> : (!vhlo.tensor_v1<16x16x!vhlo.i32_v1>, !vhlo.tensor_v1<16x16x!vhlo.i32_v1>) -> !vhlo.tensor_v1<16x16x!vhlo.bool_v1>
    %7 = "vhlo.broadcast_in_dim_v1"(%0) <{broadcast_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>}> : (!vhlo.tensor_v1<!vhlo.bool_v1>) -> !vhlo.tensor_v1<16x16x!vhlo.bool_v1>
    %8 = "vhlo.select_v1"(%6, %arg0, %7) : (!vhlo.tensor_v1<16x16x!vhlo.bool_v1>, !vhlo.tensor_v1<16x16x!vhlo.bool_v1>, !vhlo.tensor_v1<16x16x!vhlo.bool_v1>) -> !vhlo.tensor_v1<16x16x!vhlo.bool_v1>
    "vhlo.return_v1"(%8) : (!vhlo.tensor_v1<16x16x!vhlo.bool_v1>) -> ()
  } {arg_attrs = #vhlo.array_v1<[#vhlo.dict_v1<{}>]>, res_attrs = #vhlo.array_v1<[#vhlo.dict_v1<{}>]>, sym_visibility = #vhlo.string_v1<"private">}
  vhlo.func_v1 @_where(%arg0: !vhlo.tensor_v1<1x4x16x16x!vhlo.bool_v1>, %arg1: !vhlo.tensor_v1<1x4x16x1x16x!vhlo.f32_v1>, %arg2: !vhlo.tensor_v1<!vhlo.f32_v1>) -> (!vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>) {
    %0 = "vhlo.broadcast_in_dim_v1"(%arg2) <{broadcast_dimensions = #vhlo.tensor_v1<dense<> : tensor<0xi64>>}> : (!vhlo.tensor_v1<!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x4x16x16x!vhlo.f32_v1>
    %1 = "vhlo.broadcast_in_dim_v1"(%arg0) <{broadcast_dimensions = #vhlo.tensor_v1<dense<[1, 2, 3, 4]> : tensor<4xi64>>}> : (!vhlo.tensor_v1<1x4x16x16x!vhlo.bool_v1>) -> !vhlo.tensor_v1<1x1x4x16x16x!vhlo.bool_v1>
    %2 = "vhlo.broadcast_in_dim_v1"(%0) <{broadcast_dimensions = #vhlo.tensor_v1<dense<[1, 2, 3, 4]> : tensor<4xi64>>}> : (!vhlo.tensor_v1<1x4x16x16x!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>
    %3 = "vhlo.transpose_v1"(%arg1) <{permutation = #vhlo.tensor_v1<dense<[3, 0, 1, 2, 4]> : tensor<5xi64>>}> : (!vhlo.tensor_v1<1x4x16x1x16x!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>
    %4 = "vhlo.select_v1"(%1, %3, %2) : (!vhlo.tensor_v1<1x1x4x16x16x!vhlo.bool_v1>, !vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>, !vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>) -> !vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>
    "vhlo.return_v1"(%4) : (!vhlo.tensor_v1<1x1x4x16x16x!vhlo.f32_v1>) -> ()
  } {arg_attrs = #vhlo.array_v1<[#vhlo.dict_v1<{}>, #vhlo.dict_v1<{}>, #vhlo.dict_v1<{}>]>, res_attrs = #vhlo.array_v1<[#vhlo.dict_v1<{}>]>, sym_visibility = #vhlo.string_v1<"private">}
}
