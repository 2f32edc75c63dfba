"""How one tensor gets from one layout to another."""

from __future__ import annotations

import numpy as np
import pytest

from layoutopt.candidates.conversion import Conversion, conversion_form
from layoutopt.ir.graph import Graph, Pack, Structured, Unpack
from layoutopt.ir.layout import ConversionKind, Layout, conversion_kind
from layoutopt.ir.neutral import Padding
from layoutopt.ir.types import TensorType
from layoutopt.oracle import evaluate

SHAPE = (1, 13, 16)
TILED = Layout((0, 1, 2), (1, 2), (4, 2), Padding.ANY)


@pytest.mark.parametrize(
    ("target", "kind", "ops"),
    [
        (Layout((0, 2, 1), (2, 1), (8, 4)), ConversionKind.UNPACK_PACK, [Unpack, Pack]),
        (Layout((0, 2, 1), (2, 1), (2, 4)), ConversionKind.REFILL, [Structured]),
    ],
)
def test_padding_is_filled_anew_where_every_loop_has_one_tile(
    target: Layout, kind: ConversionKind, ops: list[type]
) -> None:
    graph = Graph((TensorType(SHAPE, "f32"),), (), (0,), (0,))
    form = conversion_form(graph, Conversion(0, TILED, target))
    assert [type(op) for op in form.graph.ops] == ops
    assert conversion_kind(SHAPE, TILED, target) is kind
    array = np.arange(13 * 16, dtype=np.float32).reshape(SHAPE)
    found = evaluate(form.graph, {form.inputs[0]: TILED.apply(array)})[form.outputs[0]]
    assert np.array_equal(found, target.apply(array))
