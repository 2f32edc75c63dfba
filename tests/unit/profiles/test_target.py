from __future__ import annotations

import re
from pathlib import Path

import pytest

from layoutopt.errors import InputError, MissingProfileError
from layoutopt.profiles.host import detected_gflops
from layoutopt.profiles.target import known_targets, load_target, target_text

NAMES = {"host", "x86-64-avx2", "x86-64-avx512", "arm64", "mi355x", "mi325x", "mi300x", "h200",
         "h100"}  # fmt: skip


def test_the_targets_that_come_along() -> None:
    assert set(known_targets()) >= NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_target_is_complete(name: str) -> None:
    target = load_target(name)
    assert {"f64", "f32", "f16", "bf16", "i8"} <= set(target.rates.gflops)
    assert {"matmul", "conv_nhwc", "conv_nchw", "conv_other", "generic", "copy"} <= set(
        target.rates.efficiency
    )
    assert target.machine.tiles
    assert target.flag_sets
    assert name == "host" or target.machine.levels


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_number_has_its_source(name: str) -> None:
    """On its line, or at the head of its table."""
    sourced = False
    for line in target_text(name).splitlines():
        if not line.strip():
            continue
        if line.startswith(("[", "#", "tiles")):
            sourced = "#" in line or (sourced and line.startswith(("[", "tiles")))
            continue
        if re.match(r"\w+ = -?\d", line):
            assert "#" in line or sourced, line


def test_a_target_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(target_text("mi355x").replace('name = "mi355x"', 'name = "mine"'))
    assert load_target(str(path)).name == "mine"
    path.write_text(target_text("mi355x").replace("wave_size", "wafe_size"))
    with pytest.raises(InputError) as caught:
        load_target(str(path))
    assert str(caught.value) == (
        f"profile '{path}': expected the fields of a target, but got "
        "an unknown field machine.wafe_size; compare with `layoutopt targets --show mi355x`"
    )


def test_an_unknown_target() -> None:
    with pytest.raises(MissingProfileError):
        target_text("mi999x")


@pytest.mark.parametrize(
    ("text", "f32"),
    [
        ("flags\t\t: fpu avx2 fma avx512f\ncpu MHz\t\t: 2500.000\n", 160.0),
        ("flags\t\t: fpu avx2 fma\ncpu MHz\t\t: 2500.000\n", 80.0),
        ("Features\t: fp asimd\n", 40.0),
    ],
)
def test_a_host_is_detected(tmp_path: Path, text: str, f32: float) -> None:
    path = tmp_path / "cpuinfo"
    path.write_text(text)
    assert detected_gflops(path)["f32"] == f32


def test_a_host_that_says_nothing(tmp_path: Path) -> None:
    assert detected_gflops(tmp_path / "none") == {}
