from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from layoutopt.compiler.processor import Processor
from layoutopt.errors import InputError, MissingProfileError
from layoutopt.profiles.host import (
    USUAL_CACHES,
    Caches,
    caches_of_this_machine,
    detected_gflops,
    has_byte_products,
    processor_of,
    registers_of_this_machine,
)
from layoutopt.profiles.target import (
    Tile,
    known_targets,
    load_target,
    machine_fingerprint,
    measured_on,
    target_text,
    with_microkernel,
)

NAMES = {"host", "x86-64-avx2", "x86-64-avx512", "arm64", "mi355x", "mi325x", "mi300x", "h200",
         "h100"}  # fmt: skip


def test_the_targets_that_come_along() -> None:
    assert set(known_targets()) >= NAMES


@pytest.mark.parametrize("name", sorted(NAMES))
def test_a_target_is_complete(name: str) -> None:
    target = load_target(name)
    assert {"f64", "f32", "f16", "bf16", "i8"} <= set(target.rates.gflops)
    assert bool(target.rates.efficiency) == target.device.startswith("local")
    assert (target.kernel_rates is not None) == name.startswith("mi")
    assert target.flag_sets
    assert name == "host" or target.machine.levels


@pytest.mark.parametrize("name", sorted(NAMES))
def test_each_number_has_its_source(name: str) -> None:
    """On its line, or at the head of its table."""
    sourced = False
    for line in target_text(name).splitlines():
        if not line.strip():
            continue
        if line.startswith(("[", "#")):
            sourced = "#" in line or (sourced and line.startswith("["))
            continue
        if re.match(r"\w+ = -?\d", line):
            assert "#" in line or sourced, line


def test_a_target_of_ones_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(target_text("mi355x").replace('name = "mi355x"', 'name = "mine"'))
    assert load_target(str(path)).name == "mine"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("--iree-rocm-target=mi355x", "--iree-rocm-target=gfx950"),
        ('device = "hip://0"', 'device = "hip://1"'),
        ("bandwidth_gb_s = 8000", "bandwidth_gb_s = 7000"),
        ("compute_units = 256", "compute_units = 128"),
        ("data_tiling = true", "data_tiling = false"),
    ],
)
def test_two_files_of_one_name_are_two_targets(tmp_path: Path, old: str, new: str) -> None:
    """They share neither prices nor what was learned of a model."""
    text = target_text("mi355x")
    assert old in text
    (tmp_path / "first.toml").write_text(text)
    (tmp_path / "second.toml").write_text(text.replace(old, new))
    first, second = (load_target(str(tmp_path / f"{n}.toml")) for n in ("first", "second"))
    assert first.name == second.name == "mi355x"
    assert first.fingerprint != second.fingerprint
    assert len({target.place for target in (first, second, load_target("mi355x"))}) == 3


def test_words_and_order_do_not_make_another_target(tmp_path: Path) -> None:
    text = target_text("mi355x")
    lines = [line for line in text.splitlines() if not line.startswith("description")]
    path = tmp_path / "mine.toml"
    path.write_text('description = "other words"\n' + "\n".join(lines))
    assert load_target(str(path)).fingerprint == load_target("mi355x").fingerprint


def test_prices_of_the_targets_that_come_along_stay_where_they_are() -> None:
    assert load_target("mi355x").place == "mi355x:estimate"
    assert load_target("host").place == f"host:{machine_fingerprint()}"


def test_what_a_local_device_measures_is_this_processor(tmp_path: Path) -> None:
    """Not the target that is somewhere else, nor is it another one for a file of one's own."""
    here = load_target("host").place
    path = tmp_path / "mine.toml"
    path.write_text(target_text("host").replace('name = "host"', 'name = "mine"'))
    assert load_target(str(path)).place == here
    for name in ("mi355x", "x86-64-avx2"):
        target = load_target(name)
        assert target.place == f"{name}:estimate"
        assert measured_on(target, "local-sync").place == here
    assert measured_on(load_target("mi355x"), "hip://1").place == "mi355x:estimate"


@pytest.mark.parametrize(
    ("old", "new", "text"),
    [
        ("peak_share = 0.35", "peek_share = 0.35", "machine.peek_share: expected one of "),
        ("peak_share = 0.35", "peak_share = 1.5", "machine.peak_share: expected a number from "
         "1e-09 to 1, but got 1.5"),
        ("peak_share = 0.35", "peak_share = nan", "machine.peak_share: expected a number from "
         "1e-09 to 1, but got nan"),
        ("[machine]", "[rates.efficiency]\nmatmul = 0.8\n[machine]", "rates.efficiency.conv_nhwc: "
         "expected a number from 1e-09 to 1, but got none"),
        ("clock_ghz = 2.4", "clock_ghz = 0", "kernel.clock_ghz: expected a number from 1e-09 to "
         "1e+15, but got 0"),
        ("clock_ghz = 2.4", "", "kernel.clock_ghz: expected a number from 1e-09 to 1e+15, but got "
         "none"),
        ("f32 = 157300\n", "", "rates.gflops.f32: expected a number from 1e-09 to 1e+15, but got "
         "none"),
        ("launch_ns = 3490", "launch_ns = 0", "rates.launch_ns: expected a number from 1e-09 to "
         "1e+15, but got 0"),
        ("bandwidth_gb_s = 8000", "bandwidth_gb_s = true", "rates.bandwidth_gb_s: expected a "
         "number from 1e-09 to 1e+15, but got True"),
        ("compute_units = 256", "compute_units = 0", "machine.compute_units: expected a whole "
         "number from 1 to 1e+15, but got 0"),
        ("uncertainty = 1.5", "uncertainty = -1", "machine.uncertainty: expected 0, or a number "
         "from 1e-09 to 100, but got -1"),
        ("default = []", "default = [1]", "compile.flag_sets.default: expected a list of strings, "
         "but got [1]"),
        ('device = "hip://0"', 'device = "a\\nb"', "run.device: expected a string on one line, but "
         "got 'a\\nb'"),
        ("gb_s = 17200", "gb_s = 'x'", "memory[0].gb_s: expected a number from 1e-09 to 1e+15, but "
         "got 'x'"),
    ],
)  # fmt: skip
def test_a_field_that_does_not_fit(tmp_path: Path, old: str, new: str, text: str) -> None:
    path = tmp_path / "mine.toml"
    given = target_text("mi355x")
    assert old in given
    path.write_text(given.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        load_target(str(path))
    told = str(caught.value)
    assert told.startswith(f"profile '{path}': {text}")
    assert told.endswith("; compare with `layoutopt targets --show mi355x`")


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


HOST_FLAGS = ("--iree-hal-local-target-device-backends=llvm-cpu", "--iree-llvmcpu-target-cpu=host")


@pytest.mark.parametrize(
    ("name", "processor"),
    [
        ("x86-64-avx2", Processor.AVX2),
        ("x86-64-avx512", Processor.AVX512),
        ("arm64", Processor.NEON),
        ("mi355x", None),
        ("h200", None),
    ],
)
def test_pads_join_dispatches_where_that_was_seen_to_pay(
    name: str, processor: Processor | None
) -> None:
    """On the processors of which it is known, for any name of the target."""
    target = load_target(name)
    assert processor_of(target.flags) is processor
    assert target.fuses_pads == (processor in (Processor.AVX2, Processor.AVX512))


@pytest.mark.parametrize(
    ("features", "processor"),
    [
        ("fpu sse2 avx2 fma", Processor.AVX2),
        ("fpu sse2 avx2 fma avx512f", Processor.AVX512),
        ("fpu sse2", None),
        ("fp asimd", Processor.NEON),
    ],
)
def test_the_host_is_what_its_system_says(
    tmp_path: Path, features: str, processor: Processor | None
) -> None:
    (tmp_path / "cpuinfo").write_text(f"processor : 0\nflags : {features}\n")
    assert processor_of(HOST_FLAGS, tmp_path / "cpuinfo") is processor
    assert processor_of(HOST_FLAGS, tmp_path / "none") is None
    named = (HOST_FLAGS[0], "--iree-llvmcpu-target-cpu-features=+avx2,+fma")
    assert processor_of(named) is Processor.AVX2


@pytest.mark.parametrize("processor", [*Processor, None])
def test_tiles_of_a_host_have_a_microkernel_there(processor: Processor | None) -> None:
    """IREE computes wrong numbers for others, whatever prices a plan is made with."""
    listed = {
        "f32": (Tile(16, 16, 1), Tile(8, 8, 1), Tile(8, 32, 1, mmt4d=False)),
        "i8": (Tile(4, 16, 2), Tile(4, 8, 2)),
    }
    found = with_microkernel(listed, processor)
    if processor in (Processor.AVX2, Processor.NEON):
        assert found == {"f32": listed["f32"][1:], "i8": listed["i8"][1:]}
    else:
        assert found == listed
    at_most = 8 if processor_of(HOST_FLAGS) in (Processor.AVX2, Processor.NEON) else 16
    assert {t.n for ts in load_target("host").tiles.values() for t in ts} == {8, at_most}


def test_products_of_bytes_are_what_the_system_or_the_flags_say(tmp_path: Path) -> None:
    description = tmp_path / "cpuinfo"
    description.write_text("processor : 0\nflags : avx512f avx512_vnni\n")
    assert has_byte_products(HOST_FLAGS, description)
    assert not has_byte_products(HOST_FLAGS, tmp_path / "none")
    description.write_text("processor : 0\nflags : avx512f\n")
    assert not has_byte_products(HOST_FLAGS, description)
    named = (HOST_FLAGS[0], "--iree-llvmcpu-target-cpu-features=+avx512f,+avx512vnni")
    assert has_byte_products(named, description)
    assert not has_byte_products(named[1:], description)


@pytest.mark.parametrize("word", ["true", "false"])
def test_a_target_may_say_itself_whether_pads_join(tmp_path: Path, word: str) -> None:
    for name in ("arm64", "x86-64-avx512"):
        path = tmp_path / f"{name}.toml"
        path.write_text(
            target_text(name).replace("[compile]\n", f"[compile]\nfuses_pads = {word}\n")
        )
        assert load_target(str(path)).fuses_pads == (word == "true")


def test_caches_are_those_that_linux_describes(tmp_path: Path) -> None:
    described = [("1", "Data", "32K"), ("1", "Instruction", "64M"), ("2", "Unified", "512K"),
                 ("3", "Unified", "16M")]  # fmt: skip
    for number, values in enumerate(described):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, value in zip(("level", "type", "size"), values, strict=True):
            (folder / name).write_text(f"{value}\n")
    assert caches_of_this_machine(tmp_path) == Caches(512 << 10, 16 << 20)
    shutil.rmtree(tmp_path / "index3")
    assert caches_of_this_machine(tmp_path) == Caches(512 << 10, 512 << 10)
    (tmp_path / "index2" / "size").write_text("some\n")
    assert caches_of_this_machine(tmp_path) == Caches(32 << 10, 32 << 10)
    assert caches_of_this_machine(tmp_path / "none") == USUAL_CACHES


@pytest.mark.parametrize("name", ["host", "x86-64-avx2", "x86-64-avx512", "arm64", "mi355x"])
def test_targets_have_tiles_for_fewest_conversions(name: str) -> None:
    assert {"f32", "f16", "bf16"} <= load_target(name).blocks.keys()


def test_the_ways_of_the_first_cache_are_those_that_linux_describes(tmp_path: Path) -> None:
    names = ("level", "type", "ways_of_associativity", "number_of_sets", "coherency_line_size")
    described = [("1", "Instruction", "16", "64", "64"), ("1", "Data", "12", "64", "64")]
    for number, values in enumerate(described):
        folder = tmp_path / f"index{number}"
        folder.mkdir()
        for name, value in zip(names, values, strict=True):
            (folder / name).write_text(f"{value}\n")
    usual = Processor.AVX512.registers
    found = registers_of_this_machine(Processor.AVX512, tmp_path)
    assert found == replace(usual, ways=12, way_bytes=4096)
    assert found.computes_like(usual)
    (tmp_path / "index1" / "ways_of_associativity").write_text("0\n")
    assert registers_of_this_machine(Processor.AVX512, tmp_path) == usual
    assert registers_of_this_machine(Processor.AVX512, tmp_path / "none") == usual
