"""1x1 backward convolutions as text, with backgrounds and consumers that IREE's get wrong."""

from __future__ import annotations

S, B, W, Y = "tensor<2x3x3x4xf32>", "tensor<2x6x6x4xf32>", "tensor<4x5xf32>", "tensor<2x6x6x5xf32>"
D = "(n, h, w, f, c)"


def around(background: str, behind: str, result: str = Y, out_map: str = "(n, h, w, f)") -> str:
    """A 1x1 backward convolution with a background of its own and consumers of its own."""
    made = Y if out_map == "(n, h, w, f)" else "tensor<5x2x6x6xf32>"
    return f"""func.func @f(%x: {S}, %w: {W}, %b: tensor<5xf32>) -> {result} {{
      %zero = arith.constant 0.0 : f32
      %one = arith.constant 1.0 : f32
      {background}
      %s = tensor.insert_slice %x into %bg[0, 0, 1, 0] [2, 3, 3, 4] [1, 2, 2, 1] : {S} into {B}
      %e = tensor.empty() : {made}
      %init = linalg.fill ins(%zero : f32) outs(%e : {made}) -> {made}
      %y = linalg.generic {{indexing_maps = [affine_map<{D} -> (n, h, w, c)>,
          affine_map<{D} -> (c, f)>, affine_map<{D} -> {out_map}>], iterator_types =
          ["parallel", "parallel", "parallel", "parallel", "reduction"]}}
          ins(%s, %w : {B}, {W}) outs(%init : {made}) {{
      ^bb0(%a: f32, %c: f32, %d: f32):
        %m = arith.mulf %a, %c : f32
        %t = arith.addf %d, %m : f32
        linalg.yield %t : f32
      }} -> {made}
      {behind}
      return %r : {result}
    }}"""


SPLAT = f"%bg = arith.constant dense<0.0> : {B}"
FILL = f"%be = tensor.empty() : {B}\n%bg = linalg.fill ins(%zero : f32) outs(%be : {B}) -> {B}"
ONES = f"%bg = arith.constant dense<1.0> : {B}"
BROADCAST = (
    f"%v = arith.constant dense<0.0> : tensor<4xf32>\n%be = tensor.empty() : {B}\n"
    "%bg = linalg.broadcast ins(%v : tensor<4xf32>) "
    f"outs(%be : {B}) dimensions = [0, 1, 2]"
)
PAD = (
    "%v = arith.constant dense<0.0> : tensor<1x6x6x4xf32>\n"
    "%bg = tensor.pad %v low[1, 0, 0, 0] high[0, 0, 0, 0] {\n"
    "^bb0(%i: index, %j: index, %k: index, %l: index):\n"
    f"tensor.yield %zero : f32 }} : tensor<1x6x6x4xf32> to {B}"
)


def mapped(scalar: str) -> str:
    return (
        f"%oe = tensor.empty() : {Y}\n%r = linalg.map {{ {scalar} }} ins(%y : {Y}) outs(%oe : {Y})"
    )


def add_one(kind: str = Y) -> str:
    dims = "(a, b, c, d)"
    return f"""%oe = tensor.empty() : {kind}
      %r = linalg.generic {{indexing_maps = [affine_map<{dims} -> {dims}>, affine_map<{dims} ->
          {dims}>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]}}
          ins(%y : {kind}) outs(%oe : {kind}) {{
      ^bb0(%a: f32, %d: f32):
        %t = arith.addf %a, %one : f32
        linalg.yield %t : f32
      }} -> {kind}"""


def second_user() -> str:
    """A second contraction reads the cosine of the scattered tensor and adds to the first."""
    return (
        f"%oe = tensor.empty() : {B}\n"
        f"%q = linalg.map {{ math.cos }} ins(%s : {B}) outs(%oe : {B})\n"
        f"%ye = tensor.empty() : {Y}\n%z = linalg.fill ins(%zero : f32) outs(%ye : {Y}) -> {Y}\n"
        f"%r = linalg.generic {{indexing_maps = [affine_map<{D} -> (n, h, w, c)>, "
        f"affine_map<{D} -> (c, f)>, affine_map<{D} -> (n, h, w, f)>], iterator_types = "
        '["parallel", "parallel", "parallel", "parallel", "reduction"]} '
        f"ins(%q, %w : {B}, {W}) outs(%y : {Y}) {{\n"
        "^bb0(%a: f32, %c: f32, %d: f32):\n%m = arith.mulf %a, %c : f32\n"
        f"%t = arith.addf %d, %m : f32\nlinalg.yield %t : f32 }} -> {Y}"
    )
