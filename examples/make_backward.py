#!/usr/bin/env python3
"""Write backward-data convolutions with strides as plain linalg, interior-padded as importers do.

1x1, 3x3: NHWC contractions and convolutions; stride, type, groups and sizes are options.
The accumulator is f32; 16-bit results are truncated behind the convolution.
"""

import argparse
from pathlib import Path

ISSUE_SHAPES = {
    # iree-org/iree issue 23976: filter, type, n, c, h, w, k, groups; h x w is the larger image
    "1x1_bf16_470x725": (1, "bf16", 4, 32, 470, 725, 224, 1),
    "1x1_bf16_59x91": (1, "bf16", 12, 896, 59, 91, 2016, 1),
    "1x1_f16_50x50": (1, "f16", 32, 1024, 50, 50, 2048, 1),
    "1x1_f16_100x100": (1, "f16", 32, 512, 100, 100, 1024, 1),
    "1x1_bf16_118x182": (1, "bf16", 10, 448, 118, 182, 896, 1),
    "3x3_f16_200x200_g32": (3, "f16", 32, 256, 200, 200, 256, 32),
    "3x3_bf16_940x1450_n1": (3, "bf16", 1, 3, 940, 1450, 32, 1),
    "3x3_bf16_940x1450_n5": (3, "bf16", 5, 3, 940, 1450, 32, 1),
    "3x3_bf16_940x1450_n3": (3, "bf16", 3, 3, 940, 1450, 32, 1),
    # the two graphs that the issue prints
    "issue_1x1": (1, "f16", 32, 1024, 50, 50, 2048, 1),
    "issue_3x3_g32": (3, "f16", 32, 1024, 50, 50, 1024, 32),
}


def tensor(shape: list[int], element: str) -> str:
    """The text of a tensor type."""
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


def backward_data(
    size: int, element: str, n: int, c: int, h: int, w: int, k: int, groups: int, stride: int
) -> str:
    """dx[n, h, w, g, c] of a size x size convolution, from dy[n, h/s, w/s, g, k] and a filter.

    The filter comes as [g, c, size, size, k] and is flipped inside, by index, as importers do.
    """
    small = [-(-h // stride), -(-w // stride)]
    pad = size // 2
    c, k = c // groups, k // groups
    dy, wide = [n, *small, groups, k], [n, h + 2 * pad, w + 2 * pad, groups, k]
    taps, out = [groups, c, size, size, k], [n, h, w, groups, c]
    offsets, sizes = [0, pad, pad, 0, 0], dy
    widen = "" if element == "f32" else f"arith.extf %NAME : {element} to f32"
    lines = [
        f"func.func @main(%dy: {tensor(dy, element)}, %w: {tensor(taps, element)}) "
        f"-> {tensor(out, element)} {{",
        "  %zero = arith.constant 0.0 : f32",
        f"  %last = arith.constant {size - 1} : index",
        f"  %background = arith.constant dense<0.0> : {tensor(wide, element)}",
        f"  %x = tensor.insert_slice %dy into %background{offsets} {sizes} "
        f"{[1, stride, stride, 1, 1]} : {tensor(dy, element)} into {tensor(wide, element)}",
        f"  %fe = tensor.empty() : {tensor(taps, element)}",
        "  %flip = linalg.generic {indexing_maps = [affine_map<(g, c, i, j, k) -> "
        '(g, c, i, j, k)>], iterator_types = ["parallel", "parallel", "parallel", "parallel", '
        f'"parallel"]}} outs(%fe : {tensor(taps, element)}) {{',
        f"  ^bb0(%o: {element}):",
        *(f"    %i{d} = linalg.index {d} : index" for d in range(5)),
        "    %p = arith.subi %last, %i2 : index",
        "    %q = arith.subi %last, %i3 : index",
        f"    %e = tensor.extract %w[%i0, %i1, %p, %q, %i4] : {tensor(taps, element)}",
        f"    linalg.yield %e : {element}",
        f"  }} -> {tensor(taps, element)}",
        f"  %ye = tensor.empty() : {tensor(out, 'f32')}",
        f"  %init = linalg.fill ins(%zero : f32) outs(%ye : {tensor(out, 'f32')}) "
        f"-> {tensor(out, 'f32')}",
        "  %y = linalg.generic {indexing_maps = [affine_map<(n, h, w, g, c, i, j, k) -> "
        "(n, h + i, w + j, g, k)>, affine_map<(n, h, w, g, c, i, j, k) -> (g, c, i, j, k)>, "
        "affine_map<(n, h, w, g, c, i, j, k) -> (n, h, w, g, c)>], iterator_types = "
        '["parallel", "parallel", "parallel", "parallel", "parallel", "reduction", '
        f'"reduction", "reduction"]}} ins(%x, %flip : {tensor(wide, element)}, '
        f"{tensor(taps, element)}) outs(%init : {tensor(out, 'f32')}) {{",
        f"  ^bb0(%a: {element}, %b: {element}, %s: f32):",
    ]
    names = ("%a", "%b")
    if widen:
        lines += [f"    %{v}w = {widen.replace('%NAME', f'%{v}')}" for v in "ab"]
        names = ("%aw", "%bw")
    lines += [
        f"    %m = arith.mulf {names[0]}, {names[1]} : f32",
        "    %t = arith.addf %s, %m : f32",
        "    linalg.yield %t : f32",
        f"  }} -> {tensor(out, 'f32')}",
    ]
    if element == "f32":
        return "\n".join([*lines, f"  return %y : {tensor(out, 'f32')}", "}"]) + "\n"
    identity = "affine_map<(n, h, w, g, c) -> (n, h, w, g, c)>"
    lines += [
        f"  %ze = tensor.empty() : {tensor(out, element)}",
        f"  %z = linalg.generic {{indexing_maps = [{identity}, {identity}], iterator_types = "
        '["parallel", "parallel", "parallel", "parallel", "parallel"]} '
        f"ins(%y : {tensor(out, 'f32')}) outs(%ze : {tensor(out, element)}) {{",
        f"  ^bb0(%a: f32, %b: {element}):",
        f"    %t = arith.truncf %a : f32 to {element}",
        f"    linalg.yield %t : {element}",
        f"  }} -> {tensor(out, element)}",
        f"  return %z : {tensor(out, element)}",
        "}",
    ]
    return "\n".join(lines) + "\n"


def named_backward_data(size: int, n: int, c: int, h: int, w: int, k: int, stride: int) -> str:
    """The same in f32 without groups, as the named op that IREE is fastest on.

    dx[n, h, w, c] by ``conv_2d_nhwc_hwcf``; the filter comes as [size, size, k, c].
    """
    small = [-(-h // stride), -(-w // stride)]
    pad = size // 2
    dy, wide = [n, *small, k], [n, h + 2 * pad, w + 2 * pad, k]
    taps, out = [size, size, k, c], [n, h, w, c]
    kinds = {name: tensor(shape, "f32") for name, shape in
             (("dy", dy), ("wide", wide), ("taps", taps), ("out", out))}  # fmt: skip
    dims = "affine_map<(i, j, k, c) -> (i, j, k, c)>"
    return "\n".join(
        [
            f"func.func @main(%dy: {kinds['dy']}, %w: {kinds['taps']}) -> {kinds['out']} {{",
            "  %zero = arith.constant 0.0 : f32",
            f"  %last = arith.constant {size - 1} : index",
            f"  %background = arith.constant dense<0.0> : {kinds['wide']}",
            f"  %x = tensor.insert_slice %dy into %background[0, {pad}, {pad}, 0] {dy} "
            f"[1, {stride}, {stride}, 1] : {kinds['dy']} into {kinds['wide']}",
            f"  %fe = tensor.empty() : {kinds['taps']}",
            f"  %flip = linalg.generic {{indexing_maps = [{dims}], iterator_types = "
            f'["parallel", "parallel", "parallel", "parallel"]}} outs(%fe : {kinds["taps"]}) {{',
            "  ^bb0(%o: f32):",
            *(f"    %i{d} = linalg.index {d} : index" for d in range(4)),
            "    %p = arith.subi %last, %i0 : index",
            "    %q = arith.subi %last, %i1 : index",
            f"    %e = tensor.extract %w[%p, %q, %i2, %i3] : {kinds['taps']}",
            "    linalg.yield %e : f32",
            f"  }} -> {kinds['taps']}",
            f"  %ye = tensor.empty() : {kinds['out']}",
            f"  %init = linalg.fill ins(%zero : f32) outs(%ye : {kinds['out']}) -> {kinds['out']}",
            "  %y = linalg.conv_2d_nhwc_hwcf ins(%x, %flip : "
            f"{kinds['wide']}, {kinds['taps']}) outs(%init : {kinds['out']}) -> {kinds['out']}",
            f"  return %y : {kinds['out']}",
            "}\n",
        ]
    )


def main() -> None:
    """Write one module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("shape", help=f"{', '.join(ISSUE_SHAPES)}, or f,type,n,c,h,w,k,groups")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--stride", type=int, default=2)
    options = parser.parse_args()
    shape = ISSUE_SHAPES.get(options.shape)
    if shape is None:
        first, element, *rest = options.shape.split(",")
        n, c, h, w, k, groups = map(int, rest)
        shape = (int(first), element, n, c, h, w, k, groups)
    options.output.write_text(backward_data(*shape, options.stride), encoding="utf-8")


if __name__ == "__main__":
    main()
