"""Odd constants and results."""

from __future__ import annotations

from tests.hostile.module import T, function

VALUES: dict[str, str] = {
    "a constant that is a resource": function(
        f"%p = arith.constant dense_resource<blob> : {T}", "", T, "%p"
    ),
    "a huge splat": function(
        "%p = arith.constant dense<0.5> : tensor<65536x65536x64xf32>",
        "",
        "tensor<65536x65536x64xf32>",
        "%p",
    ),
    "constants of NaN, infinity and hex": function(
        """%n = arith.constant dense<0x7FC00000> : tensor<8xf32>
    %i = arith.constant dense<[0x7F800000, 0xFF800000, 1.0, -0.0]> : tensor<4xf32>
    %b = arith.constant dense<[true, false]> : tensor<2xi1>""",
        "",
        "tensor<8xf32>, tensor<4xf32>, tensor<2xi1>",
        "%n, %i, %b",
    ),
    "sparse and string elements": function(
        """%s = arith.constant sparse<[[0, 0]], 1.0> : tensor<4x4xf32>""",
        "",
        "tensor<4x4xf32>",
        "%s",
    ),
    "a result twice": function("", "", f"{T}, {T}, {T}", "%mm, %mm, %x"),
    "arguments that are not read": function("", f"%a: {T}, %b: f32, %c: index, %d: memref<4xf32>"),
}
