from __future__ import annotations

import pytest

from layoutopt.verification.dispatch_names import loops_of


@pytest.mark.parametrize(
    ("name", "loops"),
    [
        ("main$async_dispatch_3_matmul_256x1024x64_f32", (256, 1024, 64)),
        ("main_dispatch_12_elementwise_802816_f32", (802816,)),
        ("f_dispatch_0_conv_940x1450x3x3x3x32_bf16xbf16xf32", (940, 1450, 3, 3, 3, 32)),
        ("_encoding_2_encode_256x1024xf32_to_256x1024xf32", ()),
        ("main_dispatch_0_slow_memcpy", ()),
    ],
)
def test_loops_in_the_name_of_a_dispatch(name: str, loops: tuple[int, ...]) -> None:
    assert loops_of(name) == loops
