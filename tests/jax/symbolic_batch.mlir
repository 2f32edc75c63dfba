module {
  func.func public @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %c0 = stablehlo.constant dense<0> : tensor<i32>
    %c1 = stablehlo.constant dense<1> : tensor<i32>
    %c8 = stablehlo.constant dense<8> : tensor<i32>
    %c128 = stablehlo.constant dense<128> : tensor<i32>
    %b = stablehlo.get_dimension_size %x, dim = 0 : (tensor<?x4xf32>) -> tensor<i32>
    %positive = stablehlo.compare GE, %b, %c1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%positive, %b) {error_message = "Expected value >= 1 for dimension variable 'b'. Using the following polymorphic shapes specifications: args[0].shape = (b, 4).", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %rest = stablehlo.remainder %b, %c8 : tensor<i32>
    %whole = stablehlo.compare EQ, %rest, %c0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%whole, %rest) {error_message = "Expected 'mod(b, 8)' to be equal to 0, but found {0}.  Using the following polymorphic shapes specifications: args[0].shape = (b, 4).", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %room = stablehlo.subtract %c128, %b : tensor<i32>
    %small = stablehlo.compare GE, %room, %c0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.custom_call @shape_assertion(%small, %room) {error_message = "Expected '- b + 128' to be greater or equal to 0, but found {0}.  Using the following polymorphic shapes specifications: args[0].shape = (b, 4).", has_side_effect = true} : (tensor<i1>, tensor<i32>) -> ()
    %y = call @inner(%b, %x) : (tensor<i32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    return %y : tensor<?x4xf32>
  }
  func.func private @inner(%b: tensor<i32> {jax.global_constant = "b"}, %x: tensor<?x4xf32>) -> tensor<?x4xf32> {
    %c4 = stablehlo.constant dense<4> : tensor<1xi32>
    %row = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %b1 = stablehlo.reshape %b : (tensor<i32>) -> tensor<1xi32>
    %shape = stablehlo.concatenate %b1, %c4, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
    %rows = stablehlo.dynamic_broadcast_in_dim %row, %shape, dims = [1] : (tensor<4xf32>, tensor<2xi32>) -> tensor<?x4xf32>
    %y = stablehlo.add %x, %rows : tensor<?x4xf32>
    return %y : tensor<?x4xf32>
  }
}
