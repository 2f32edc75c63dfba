"""Small models that the tests plan."""

from __future__ import annotations

import itertools

CONVOLUTIONS = """
#id = affine_map<(n, f, h, w) -> (n, f, h, w)>
#bias = affine_map<(n, f, h, w) -> (f)>
func.func @main(%x: tensor<1x8x18x18xf32>) -> tensor<1x16x8x8xf32> {
  %zero = arith.constant 0.0 : f32
  %w1 = arith.constant dense<0.25> : tensor<16x8x3x3xf32>
  %w2 = util.unfoldable_constant dense<0.125> : tensor<16x16x1x1xf32>
  %b = arith.constant dense<[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5,
    6.5, 7.5]> : tensor<16xf32>
  %e1 = tensor.empty() : tensor<1x16x16x16xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
  %c1 = linalg.conv_2d_nchw_fchw {strides = dense<1> : tensor<2xi64>,
    dilations = dense<1> : tensor<2xi64>}
    ins(%x, %w1 : tensor<1x8x18x18xf32>, tensor<16x8x3x3xf32>)
    outs(%f1 : tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
  %r1 = linalg.generic {indexing_maps = [#id, #bias, #id],
    iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
    ins(%c1, %b : tensor<1x16x16x16xf32>, tensor<16xf32>) outs(%e1 : tensor<1x16x16x16xf32>) {
  ^bb0(%a: f32, %c: f32, %o: f32):
    %s = arith.addf %a, %c : f32
    %m = arith.maximumf %s, %zero : f32
    linalg.yield %m : f32
  } -> tensor<1x16x16x16xf32>
  %e2 = tensor.empty() : tensor<1x16x8x8xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  %c2 = linalg.conv_2d_nchw_fchw {strides = dense<2> : tensor<2xi64>,
    dilations = dense<1> : tensor<2xi64>}
    ins(%r1, %w2 : tensor<1x16x16x16xf32>, tensor<16x16x1x1xf32>)
    outs(%f2 : tensor<1x16x8x8xf32>) -> tensor<1x16x8x8xf32>
  return %c2 : tensor<1x16x8x8xf32>
}
"""
"""A 3x3 convolution with bias and relu, then a strided 1x1 one whose weight is a barrier."""


def chain_of_matmuls(rows: int, widths: list[int]) -> str:
    """Matmuls with constant weights, one after the other, that differ in their sizes alone."""
    lines = ["  %zero = arith.constant 0.0 : f32"]
    shape = "tensor<{}x{}xf32>".format
    for place, (before, after) in enumerate(itertools.pairwise(widths)):
        taken, given, weights = shape(rows, before), shape(rows, after), shape(before, after)
        lines += [
            f"  %w{place} = arith.constant dense<0.0625> : {weights}",
            f"  %e{place} = tensor.empty() : {given}",
            f"  %f{place} = linalg.fill ins(%zero : f32) outs(%e{place} : {given}) -> {given}",
            f"  %x{place + 1} = linalg.matmul ins(%x{place}, %w{place} : {taken}, {weights})"
            f" outs(%f{place} : {given}) -> {given}",
        ]
    first, last = shape(rows, widths[0]), shape(rows, widths[-1])
    return "\n".join(
        [
            f"func.func @main(%x0: {first}) -> {last} {{",
            *lines,
            f"  return %x{len(widths) - 1} : {last}",
            "}",
        ]
    )


def chain_of_convolutions(channels: list[int], image: int = 28) -> str:
    """3x3 convolutions over one image, one after the other, that differ in their channels."""
    lines = ["  %zero = arith.constant 0.0 : f32"]
    shape = "1x{}x{}x{}xf32".format
    size = image
    for place, (before, after) in enumerate(itertools.pairwise(channels)):
        taken, size = shape(before, size, size), size - 2
        given, filters = shape(after, size, size), f"{after}x{before}x3x3xf32"
        lines += [
            f"  %w{place} = arith.constant dense<0.0625> : tensor<{filters}>",
            f"  %e{place} = tensor.empty() : tensor<{given}>",
            f"  %f{place} = linalg.fill ins(%zero : f32) outs(%e{place} : tensor<{given}>)"
            f" -> tensor<{given}>",
            f"  %x{place + 1} = linalg.conv_2d_nchw_fchw"
            " {strides = dense<1> : tensor<2xi64>, dilations = dense<1> : tensor<2xi64>}"
            f" ins(%x{place}, %w{place} : tensor<{taken}>, tensor<{filters}>)"
            f" outs(%f{place} : tensor<{given}>) -> tensor<{given}>",
        ]
    first, last = shape(channels[0], image, image), shape(channels[-1], size, size)
    result = f"%x{len(channels) - 1}"
    return "\n".join(
        [
            f"func.func @main(%x0: tensor<{first}>) -> tensor<{last}> {{",
            *lines,
            f"  return {result} : tensor<{last}>",
            "}",
            "",
        ]
    )
