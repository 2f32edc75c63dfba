import pytest

from layoutopt.ir.layout import ConversionKind, Layout, conversion_kind, row_major
from layoutopt.ir.types import TensorType


@pytest.mark.parametrize(
    ("perm", "pos", "tiles", "message"),
    [
        ((0, 2), (), (), "outer_dims_perm: expected a permutation of 0..rank-1, but got (0, 2)"),
        (
            (0, 1),
            (0,),
            (4, 8),
            "inner_dims_pos: expected one distinct dim per tile, but got (0,) for (4, 8)",
        ),
        (
            (0, 1),
            (1, 1),
            (4, 8),
            "inner_dims_pos: expected one distinct dim per tile, but got (1, 1) for (4, 8)",
        ),
        ((0, 1), (2,), (4,), "inner_dims_pos: expected dims below rank 2, but got (2,)"),
        ((0, 1), (0,), (0,), "inner_tiles: expected sizes of at least 1, but got (0,)"),
    ],
)
def test_wrong_layouts_are_refused(
    perm: tuple[int, ...], pos: tuple[int, ...], tiles: tuple[int, ...], message: str
) -> None:
    with pytest.raises(ValueError, match=r"expected") as caught:
        Layout(perm, pos, tiles)
    assert str(caught.value) == message


SHAPE = (1, 8, 6, 6)
NCHW, NHWC = row_major(4), Layout((0, 2, 3, 1))
NCHW4C, NCHW8C = Layout((0, 1, 2, 3), (1,), (4,)), Layout((0, 1, 2, 3), (1,), (8,))


@pytest.mark.parametrize(
    ("source", "target", "kind"),
    [
        (NCHW, NCHW, ConversionKind.NOTHING),
        (NCHW, Layout((1, 0, 2, 3)), ConversionKind.RESHAPE),
        (NHWC, NCHW8C, ConversionKind.RESHAPE),
        (NCHW, NHWC, ConversionKind.TRANSPOSE),
        (NCHW, NCHW4C, ConversionKind.PACK),
        (NCHW4C, NHWC, ConversionKind.UNPACK),
        (NCHW4C, Layout((0, 1, 2, 3), (1,), (2,)), ConversionKind.TRANSPOSE),
        (NCHW4C, Layout((0, 1, 2, 3), (1,), (3,)), ConversionKind.UNPACK_PACK),
        (NCHW, Layout((0, 1, 2, 3), (2,), (4,)), ConversionKind.PACK),
    ],
)
def test_the_cheapest_conversion(source: Layout, target: Layout, kind: ConversionKind) -> None:
    assert conversion_kind(SHAPE, source, target) is kind


def test_padding_counts_as_memory() -> None:
    layout = Layout((1, 0), (1, 0), (16, 8))
    assert layout.physical_shape((30, 60)) == (4, 4, 16, 8)
    assert layout.size_bytes(TensorType((30, 60), "f32")) == 4 * 4 * 16 * 8 * 4
    assert layout.pads((30, 60))
    assert not layout.pads((32, 64))
    assert layout.tile_of(0) == 8


def test_names() -> None:
    assert str(NCHW) == "row-major"
    assert str(NHWC) == "perm[0,2,3,1]"
    assert str(NCHW4C) == "perm[0,1,2,3] tiles[1:4]"
