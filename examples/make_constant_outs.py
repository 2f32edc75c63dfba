#!/usr/bin/env python3
"""Write ops whose `outs` are constants (iree-org/iree issue 12233).

A matmul that accumulates into a constant of `--megabytes`, held in a global; a column maximum and
a column sum of another input that start from smaller ones, inline. No constant is a splat.
"""

import argparse
import math
from pathlib import Path

import numpy as np


def resource(name: str, count: int) -> str:
    """A dense resource of random floats, as the text of a dialect resource."""
    values = np.random.default_rng(count).standard_normal(count, dtype=np.float32)
    return f'{name}: "0x04000000{values.tobytes().hex().upper()}"'


def constant_outs(megabytes: float) -> str:
    """The whole module."""
    n = max(64, math.isqrt(round(megabytes * 250_000)))
    large, row = f"tensor<{n}x{n}xf32>", f"tensor<{n}xf32>"
    x, w, rows = f"tensor<{n}x4xf32>", f"tensor<4x{n}xf32>", f"tensor<16x{n}xf32>"
    blobs = ", ".join([resource("large", n * n), resource("low", n), resource("base", n)])

    def fold(result: str, op: str, of: str, start: str) -> str:
        return (
            f"  {result} = linalg.reduce ins({of} : {rows}) outs({start} : {row}) "
            "dimensions = [0]\n"
            f"    (%a: f32, %b: f32) {{ %q = arith.{op} %a, %b : f32\n"
            "      linalg.yield %q : f32 }\n"
        )

    return (
        f"{{-# dialect_resources: {{ builtin: {{ {blobs} }} }} #-}}\n"
        f"util.global private @large = dense_resource<large> : {large}\n"
        f"func.func @main(%x: {x}, %w: {w}, %v: {rows}) -> ({large}, {row}, {row}) {{\n"
        f"  %c = util.global.load @large : {large}\n"
        f"  %low = arith.constant dense_resource<low> : {row}\n"
        f"  %base = arith.constant dense_resource<base> : {row}\n"
        f"  %y = linalg.matmul ins(%x, %w : {x}, {w}) outs(%c : {large}) -> {large}\n"
        + fold("%m", "maximumf", "%v", "%low")
        + fold("%s", "addf", "%v", "%base")
        + f"  return %y, %m, %s : {large}, {row}, {row}\n}}\n"
    )


def main() -> None:
    """Write one module."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--megabytes", type=float, default=100.0)
    options = parser.parse_args()
    options.output.write_text(constant_outs(options.megabytes), encoding="utf-8")


if __name__ == "__main__":
    main()
