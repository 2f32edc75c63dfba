"""Packings by conditions on the op: which ops meet them, what is made of them, bad entries."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutopt.candidates.packing.custom import meets
from layoutopt.candidates.packing.options import PackingOptions, packings
from layoutopt.candidates.packing.tiling import Packing
from layoutopt.errors import InputError
from layoutopt.ir.graph import Structured
from layoutopt.ir.layout import Layout
from layoutopt.profiles.op_pattern import ROLES, OpPattern, op_patterns
from layoutopt.profiles.target import Tile, load_target, target_text
from tests.unit.candidates.packing.test_options import matmul, written

GRAPH = matmul(16, 32, 8)
MATMUL = GRAPH.ops[0]
assert isinstance(MATMUL, Structured)


def pattern(**fields: object) -> OpPattern:
    return op_patterns([{"tile": [4, 8, 2], "emit": "generic"} | fields], "profile 'mine'")[0]


def found(entry: OpPattern, name: str = "contraction.3") -> tuple[Packing, ...]:
    assert isinstance(MATMUL, Structured)
    options = PackingOptions({"f32": (Tile(8, 8, 1),)}, None, (entry,))
    return packings(MATMUL, GRAPH.types, options, constant_rhs=True, name=name)


def test_a_tile_becomes_a_packing_before_those_of_the_options() -> None:
    first, *others = found(pattern())
    assert first == Packing(
        Layout((0, 1), (0, 1), (4, 2)),
        Layout((1, 0), (1, 0), (8, 2)),
        Layout((0, 1), (0, 1), (4, 8)),
        mmt4d=False,
    )
    assert others
    assert found(pattern(only=True)) == (first,)


def test_orders_of_inner_and_outer_dims() -> None:
    outer = {"lhs": ["k", "m"], "rhs": ["k", "n"], "result": ["n", "m"]}
    (packing,) = found(pattern(only=True, inner=["k", "n", "m"], outer=outer))
    assert packing == Packing(
        Layout((1, 0), (1, 0), (2, 4)),
        Layout((0, 1), (0, 1), (2, 8)),
        Layout((1, 0), (1, 0), (8, 4)),
        mmt4d=False,
    )


def test_a_table_tiles_the_loops_that_it_names() -> None:
    (packing,) = found(pattern(only=True, tile={"n": 16}))
    assert (packing.lhs, packing.rhs.inner_tiles) == (Layout((0, 1)), (16,))


def test_a_tile_that_does_not_divide_gives_way_or_is_padded() -> None:
    smaller, padded = found(pattern(only=True, tile=[5, 31, 3]))
    assert (smaller.lhs.inner_tiles, smaller.rhs.inner_tiles) == ((4, 2), (16, 2))
    assert (padded.lhs.inner_tiles, padded.rhs.inner_tiles) == ((5, 3), (31, 3))
    (kept,) = found(pattern(only=True, tile=[5, 31, 3], emit="mmt4d"))
    assert kept.rhs.inner_tiles == (31, 3)
    assert found(pattern(only=True, tile=[1, 1, 1])) == ()


@pytest.mark.parametrize(
    ("fields", "holds"),
    [
        ({}, True),
        ({"kind": "contraction"}, True),
        ({"kind": "convolution"}, False),
        ({"named": "matmul"}, True),
        ({"named": "batch_matmul"}, False),
        ({"name": r"contraction\.\d"}, True),
        ({"name": "contraction"}, False),
        ({"types": ["f32", "f32", "f32"]}, True),
        ({"types": ["bf16", "bf16", "f32"]}, False),
        ({"sizes": {"m": 16, "n": "17..", "k": "..8"}}, True),
        ({"sizes": {"m": "..15"}}, False),
        ({"sizes": {"k": "9..12"}}, False),
        ({"sizes": {"batch": 1}}, True),
    ],
)
def test_conditions(fields: dict[str, object], holds: bool) -> None:
    assert isinstance(MATMUL, Structured)
    assert meets(pattern(**fields), MATMUL, GRAPH.types, "contraction.3") == holds


def test_it_is_written_as_it_says() -> None:
    generic = written(GRAPH, PackingOptions({}, None, (pattern(only=True),)))
    assert generic
    assert all("linalg.generic" in text and "mmt4d" not in text for text in generic)
    named = written(GRAPH, PackingOptions({}, None, (pattern(only=True, emit="mmt4d"),)))
    assert named
    assert all("linalg.mmt4d" in text for text in named)
    orders = {"lhs": ["k", "m"]}
    assert written(GRAPH, PackingOptions({}, None, (pattern(emit="mmt4d", outer=orders),))) == []


@given(st.permutations(ROLES), st.permutations(["m", "k"]), st.permutations(["n", "k"]))
def test_every_order_is_a_layout_of_the_operands(
    inner: list[str], lhs: list[str], rhs: list[str]
) -> None:
    (packing,) = found(pattern(only=True, inner=inner, outer={"lhs": lhs, "rhs": rhs}))
    for layout, shape in (
        (packing.lhs, (16, 8)),
        (packing.rhs, (8, 32)),
        (packing.result, (16, 32)),
    ):
        assert layout.rank == 2
        assert not layout.pads(shape)


@pytest.mark.parametrize(
    ("row", "text"),
    [
        ({}, ": expected a tile, but got none"),
        (
            {"tile": [4, 4]},
            ".tile: expected [m, n, k] or a table of batch, m, n and k, but got [4, 4]",
        ),
        ({"tile": [0, 4, 4]}, ".tile: expected sizes from 1 to 65536, but got [0, 4, 4]"),
        (
            {"tile": [4, 4, 4], "tiles": 1},
            ": expected fields of emit, inner, kind, name, named, only, outer, sizes, tile, types, "
            "but got 'tiles'",
        ),
        (
            {"tile": [4, 4, 4], "emit": "mmt"},
            ".emit: expected one of mmt4d, generic, but got 'mmt'",
        ),
        (
            {"tile": [4, 4, 4], "kind": "matmul"},
            ".kind: expected one of contraction, convolution, but got 'matmul'",
        ),
        (
            {"tile": [4, 4, 4], "inner": ["m", "m"]},
            ".inner: expected each role once, but got ['m', 'm']",
        ),
        (
            {"tile": [4, 4, 4], "outer": {"lhs": ["x"]}},
            ".outer.lhs: expected a list of batch, m, n, k, but got ['x']",
        ),
        (
            {"tile": [4, 4, 4], "outer": ["m"]},
            ".outer: expected a table of lhs, rhs and result, but got ['m']",
        ),
        (
            {"tile": [4, 4, 4], "types": ["f32"]},
            ".types: expected three element types: lhs, rhs, result, but got ['f32']",
        ),
        (
            {"tile": [4, 4, 4], "sizes": {"m": "1-4"}},
            ".sizes.m: expected a size, or a range such as '..64' or '65..512', but got '1-4'",
        ),
        ({"tile": [4, 4, 4], "only": 1}, ".only: expected true or false, but got 1"),
        ({"tile": [4, 4, 4], "named": 1}, ".named: expected a string, but got 1"),
    ],
)
def test_an_entry_that_is_none(row: dict[str, object], text: str) -> None:
    with pytest.raises(InputError) as error:
        op_patterns([{"tile": [1, 1, 2]}, row], "profile 'mine'")
    assert str(error.value) == f"profile 'mine': packing.op 1{text}; see docs/packing.md"


def test_a_name_that_is_no_regular_expression() -> None:
    with pytest.raises(InputError, match=r"packing.op 0.name: expected a regular expression, but"):
        pattern(name="(")


def test_a_target_file_holds_patterns(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    text = target_text("host")
    path.write_text(f'{text}\n[[packing.op]]\nkind = "contraction"\ntile = [4, 16, 1]\n')
    assert load_target(str(path)).op_packings == (
        OpPattern(tile=(("m", 4), ("n", 16), ("k", 1)), kind="contraction"),
    )
    path.write_text(f'{text}\n[[packing.op]]\nemit = "generic"\n')
    with pytest.raises(InputError) as error:
        load_target(str(path))
    assert str(error.value) == (
        f"profile '{path}': packing.op 0: expected a tile, but got none; see docs/packing.md"
    )
