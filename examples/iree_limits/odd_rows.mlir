#image = affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>
#channel = affine_map<(d0, d1, d2, d3) -> (d1)>
func.func @main(%x: tensor<1x272x14x14xf32>, %shortcut: tensor<1x272x14x14xf32>, %scale: tensor<272xf32>, %offset: tensor<272xf32>) -> tensor<1x272x14x14xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<1x272x14x14xf32>
  %y = linalg.generic {indexing_maps = [#image, #channel, #channel, #image, #image], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%x, %scale, %offset, %shortcut : tensor<1x272x14x14xf32>, tensor<272xf32>, tensor<272xf32>, tensor<1x272x14x14xf32>)
      outs(%empty : tensor<1x272x14x14xf32>) {
  ^bb0(%a: f32, %s: f32, %o: f32, %b: f32, %unused: f32):
    %0 = arith.mulf %a, %s : f32
    %1 = arith.addf %0, %o : f32
    %2 = arith.addf %1, %b : f32
    %3 = arith.maximumf %2, %zero : f32
    linalg.yield %3 : f32
  } -> tensor<1x272x14x14xf32>
  return %y : tensor<1x272x14x14xf32>
}
