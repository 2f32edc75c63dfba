"""Which tensors hold one value, or another tensor at strided places of one value."""

from __future__ import annotations

import pytest

from layoutopt.ir.affine import identity_map, plain_map
from layoutopt.ir.graph import (
    Constant,
    GraphBuilder,
    Insert,
    IteratorType,
    Op,
    Pad,
    Reshape,
    Scatter,
    Slice,
    Structured,
    Uninitialized,
)
from layoutopt.ir.scalar import Body
from layoutopt.rules.rewrites.interior_padding import interior_padding, is_same, is_zero, splat_of

P = IteratorType.PARALLEL


def splat(value: str | None, element: str) -> tuple[GraphBuilder, int]:
    builder = GraphBuilder()
    tensor = builder.tensor((4,), element)
    builder.add(Constant(tensor, value))
    return builder, tensor


@pytest.mark.parametrize(
    ("element", "held", "around", "one"),
    [
        ("f32", "4.0 : f32", "4.0 : f32", True),
        ("f32", "4.0 : f32", "0.0 : f32", False),
        ("f32", "0.0 : f32", "-0.0 : f32", False),
        ("f8E3M4B11FNUZ", "4.0 : f8E3M4B11FNUZ", "0.0 : f8E3M4B11FNUZ", False),
        ("f8E3M4B11FNUZ", "4.0 : f8E3M4B11FNUZ", "4.0 : f8E3M4B11FNUZ", False),
    ],
)
def test_a_padded_splat_is_one_where_both_values_are_known_and_one(
    element: str, held: str, around: str, one: bool
) -> None:
    builder, tensor = splat(held, element)
    wide = builder.tensor((6,), element)
    builder.add(Pad(tensor, wide, (1,), (1,), around))
    graph = builder.build((), (wide,))
    assert splat_of(graph, wide) == (held if one else None)
    assert is_same(held, around, element) is one


@pytest.mark.parametrize("element", ["f32", "f8E3M4B11FNUZ"])
@pytest.mark.parametrize("around", ["0.0", "1.0"])
def test_a_padded_scatter_is_one_where_both_values_are_known_and_one(
    element: str, around: str
) -> None:
    builder = GraphBuilder()
    x, wide, padded = (builder.tensor((n,), element) for n in (2, 4, 6))
    builder.add(Scatter((x,), wide, ((0,),), (2,), f"0.0 : {element}"))
    builder.add(Pad(wide, padded, (1,), (1,), f"{around} : {element}"))
    found = interior_padding(builder.build((x,), (padded,)), padded)
    assert (found is not None) == (element == "f32" and around == "0.0")
    if found is not None:
        assert found.offsets == (1,)


def test_a_pad_around_a_computed_background_is_no_interior_padding() -> None:
    builder = GraphBuilder()
    x, into, wide, padded = (builder.tensor((n,), "f32") for n in (2, 4, 4, 6))
    builder.add(Insert(x, into, wide, (0,), (2,)))
    builder.add(Pad(wide, padded, (1,), (1,), "0.0 : f32"))
    graph = builder.build((x, into), (padded,))
    found = interior_padding(graph, wide)
    assert found is not None
    assert found.background is None
    assert interior_padding(graph, padded) is None


def test_what_has_no_stride_is_not_interior_padded() -> None:
    builder = GraphBuilder()
    x, wide = builder.tensor((2,), "f32"), builder.tensor((4,), "f32")
    builder.add(Scatter((x,), wide, ((1,),), (1,), "0.0 : f32"))
    assert interior_padding(builder.build((x,), (wide,)), wide) is None


def test_two_sources_are_no_interior_padding() -> None:
    builder = GraphBuilder()
    x, z, wide = (builder.tensor((n,), "f32") for n in (2, 2, 4))
    builder.add(Scatter((x, z), wide, ((0,), (1,)), (2,), None))
    assert interior_padding(builder.build((x, z), (wide,)), wide) is None


@pytest.mark.parametrize("moved", ["slice", "reshape", "copy", "pad"])
def test_what_moves_one_value_holds_it(moved: str) -> None:
    builder, tensor = splat("4.0 : f32", "f32")
    shape = {"slice": (2,), "reshape": (2, 2), "copy": (3, 4), "pad": (5,)}[moved]
    made = builder.tensor(shape, "f32")
    copy = Structured(
        (tensor,),
        (Uninitialized(),),
        (made,),
        (3, 4),
        (P, P),
        (plain_map((1,)), identity_map(2)),
        Body(("f32", "f32"), (), (0,)),
    )
    ways: dict[str, Op] = {
        "slice": Slice(tensor, made, (0,), (2,)),
        "reshape": Reshape(tensor, made),
        "copy": copy,
        "pad": Pad(tensor, made, (0,), (1,), "4.0 : f32"),
    }
    builder.add(ways[moved])
    assert splat_of(builder.build((), (made,)), made) == "4.0 : f32"


def test_zero_is_known_of_known_types() -> None:
    assert is_zero("0.0 : f32", "f32")
    assert is_zero("0 : i8", "i8")
    assert not is_zero("1.0 : f32", "f32")
    assert not is_zero("0.0 : f8E3M4B11FNUZ", "f8E3M4B11FNUZ")
