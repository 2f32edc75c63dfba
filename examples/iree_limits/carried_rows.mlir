// A loop that writes one row of a tensor in each of its steps: IREE 3.13 copies all rows each time,
// and records the commands of each trip anew.
#row = affine_map<(i, j) -> (i, j)>
func.func @carried_rows(%h0: tensor<1x512xf32>) -> tensor<1000x1x512xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %steps = arith.constant 1000 : index
  %e = tensor.empty() : tensor<1x512xf32>
  %all = tensor.empty() : tensor<1000x1x512xf32>
  %r:2 = scf.for %i = %c0 to %steps step %c1 iter_args(%rows = %all, %h = %h0)
      -> (tensor<1000x1x512xf32>, tensor<1x512xf32>) {
    %t = linalg.generic {indexing_maps = [#row, #row], iterator_types = ["parallel", "parallel"]}
        ins(%h : tensor<1x512xf32>) outs(%e : tensor<1x512xf32>) {
      ^bb0(%x: f32, %o: f32):
        %y = math.tanh %x : f32
        linalg.yield %y : f32
    } -> tensor<1x512xf32>
    %kept = tensor.insert_slice %t into %rows[%i, 0, 0] [1, 1, 512] [1, 1, 1]
        : tensor<1x512xf32> into tensor<1000x1x512xf32>
    scf.yield %kept, %t : tensor<1000x1x512xf32>, tensor<1x512xf32>
  }
  return %r#0 : tensor<1000x1x512xf32>
}
