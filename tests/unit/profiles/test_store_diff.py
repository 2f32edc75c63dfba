from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from layoutopt.cli.main import cli
from layoutopt.errors import InputError
from layoutopt.profiles.store import Store
from layoutopt.profiles.store_diff import compare, kind_of, quantile
from layoutopt.profiles.store_record import Provenance, Record

MATMUL = "%r = linalg.matmul ins(%x, %w"


def record(key: str, *samples_ns: int, text: str = MATMUL, outcome: str = "ok") -> Record:
    provenance = Provenance("test", "2026-01-01T00:00:00Z", "box")
    return Record(key, "host:1", "3.13/3.13", (), text, outcome, samples_ns, "", provenance)


def store(path: Path, *records: Record) -> Path:
    with Store(path) as made:
        made.put(*records)
    return path


def test_prices_are_matched_by_key() -> None:
    first = [record("a", 100, 300, 200), record("b", 1000), record("c", 5), record("e", 7)]
    second = [record("b", 800), record("a", 210), record("d", 1), record("e", outcome="mismatch")]
    found = compare(first, second)
    assert [(p.key, p.first_ns, p.second_ns) for p in found.pairs] == [
        ("a", 200.0, 210.0),
        ("b", 1000.0, 800.0),
    ]
    assert [p.difference for p in found.pairs] == pytest.approx([0.05, 0.25])
    assert found.outcomes == (("e", "ok", "mismatch"),)
    assert (found.only_first, found.only_second) == (1, 1)
    assert found.drift == pytest.approx((1.05 * 0.8) ** 0.5)
    assert [quantile(found.pairs, share) for share in (0.5, 0.9, 1.0)] == pytest.approx(
        [0.05, 0.25, 0.25]
    )


def test_nothing_in_common() -> None:
    found = compare([record("a", 1)], [])
    assert (found.pairs, found.drift, quantile(found.pairs, 0.5)) == ((), 1.0, 0.0)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("linalg.fill linalg.conv_2d_nhwc_hwcf", "convolution"),
        ("linalg.depthwise_conv_2d_nhwc_hwc", "convolution"),
        ("linalg.generic linalg.batch_matmul", "contraction"),
        ("linalg.mmt4d", "contraction"),
        ("linalg.generic linalg.unpack", "pack"),
        ('linalg.generic {iterator_types = ["parallel", "reduction"]}', "generic reduction"),
        ("linalg.transpose", "transpose"),
        ('linalg.generic {iterator_types = ["parallel"]}', "elementwise"),
        ("tensor.pad", "other"),
    ],
)
def test_kinds(text: str, kind: str) -> None:
    assert kind_of(text) == kind


def test_the_command_passes_and_fails_by_tolerance(tmp_path: Path) -> None:
    first = store(tmp_path / "1.sqlite", record("a", 1_000), record("b", 1_000_000))
    second = store(tmp_path / "2.sqlite", record("a", 1_040), record("b", 1_200_000))
    words = ["profile", "diff", str(first), str(second)]
    passed = CliRunner().invoke(cli, words)
    assert passed.exit_code == 0
    assert passed.output.endswith(
        "2 prices in common; median difference 4.0 %, within the tolerance of 5 %\n"
    )
    assert "b: contraction, 1000.0 us, then 1200.0 us" in passed.output
    failed = CliRunner().invoke(cli, [*words, "--tolerance", "0.03"])
    assert failed.exit_code == 1
    assert failed.output.endswith("median difference 4.0 %, above the tolerance of 3 %\n")


def test_stores_that_cannot_be_compared(tmp_path: Path) -> None:
    first = store(tmp_path / "1.sqlite", record("a", 1))
    second = store(tmp_path / "2.sqlite", record("b", 1))
    result = CliRunner().invoke(cli, ["profile", "diff", str(first), str(second)])
    assert isinstance(result.exception, InputError)
    assert str(result.exception) == (
        f"{first} and {second}: expected prices of the same candidates, but got none in common; "
        "measure the same models for the same target with the same version of IREE"
    )
    result = CliRunner().invoke(cli, ["profile", "diff", str(first), str(tmp_path / "none")])
    assert str(result.exception) == (
        f"{tmp_path / 'none'}: expected a price store, but got no such file; check the path"
    )
