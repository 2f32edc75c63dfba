"""The rate of this machine's multiply-adds."""

import re

from layoutopt.profiles.target import load_target
from layoutopt.runtime import compute_rate
from layoutopt.runtime.compute_rate import compute_gflops
from layoutopt.runtime.setting import HERE


def test_every_operation_of_the_kernel_counts() -> None:
    text = "\n".join(compute_rate._text(1024, 6))
    fused, added = len(re.findall(r"math\.fma", text)), len(re.findall(r"arith\.addf", text))
    assert 2 * fused + added == compute_rate._operations(6)


def test_it_is_timed_once() -> None:
    flags = load_target("host").flags
    found = compute_gflops(flags, HERE)
    assert found is not None
    assert 0.1 < found < 100_000
    assert compute_gflops(flags, HERE) == found


def test_where_the_kernel_does_not_compile_there_is_none() -> None:
    assert compute_gflops(("--no-such-flag",), HERE) is None
