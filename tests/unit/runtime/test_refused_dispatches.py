"""Dispatches that a compiler's error message names."""

from layoutopt.runtime.reason import refused_dispatches

MESSAGE = """
x.mlir:3:9: error: 'func.func' op exceeded stack allocation limit of 32768 bytes
x.mlir:3:9: note: see current operation:
"func.func"() <{function_type = () -> (), sym_name = "f$async_dispatch_7_matmul_8x16x8_f32"}> ({
"func.func"() <{function_type = () -> (), sym_name = "f$async_dispatch_7_matmul_8x16x8_f32"}> ({
"func.func"() <{function_type = () -> (), sym_name = "helper"}> ({
"""


def test_each_dispatch_is_named_once() -> None:
    assert refused_dispatches(MESSAGE) == ("f$async_dispatch_7_matmul_8x16x8_f32",)
    assert refused_dispatches("error: out of memory") == ()
