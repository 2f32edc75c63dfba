// ShuffleNet's shuffle of channels behind a bias and a ReLU: one dispatch.
#whole = affine_map<(g, c, i) -> (g, c, i)>
#channel = affine_map<(g, c, i) -> (g, c)>
#shuffled = affine_map<(g, c, i) -> (i, c, g)>
func.func @main(%x: tensor<4x34x784xf32>, %b: tensor<4x34xf32>) -> tensor<784x34x4xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<4x34x784xf32>
  %y = linalg.generic {indexing_maps = [#whole, #channel, #whole], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %b : tensor<4x34x784xf32>, tensor<4x34xf32>) outs(%empty : tensor<4x34x784xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    %m = arith.maximumf %s, %zero : f32
    linalg.yield %m : f32
  } -> tensor<4x34x784xf32>
  %into = tensor.empty() : tensor<784x34x4xf32>
  %z = linalg.generic {indexing_maps = [#whole, #shuffled], iterator_types = ["parallel", "parallel", "parallel"]} ins(%y : tensor<4x34x784xf32>) outs(%into : tensor<784x34x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<784x34x4xf32>
  return %z : tensor<784x34x4xf32>
}
