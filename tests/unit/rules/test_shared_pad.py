"""Reads of one tensor that leave it: one pad for several."""

from __future__ import annotations

import pytest

from layoutopt.ir.graph import Pad
from layoutopt.ir.types import TensorType
from layoutopt.rules.rewrites.loops import Rewriting
from layoutopt.rules.rewrites.shared_pad import PadRead, padded_once
from tests.unit.rules.contractions import form

INSIDE = PadRead(0, (form((0, 1)), form((1, 1))), (4, 3))
ABOVE = PadRead(0, (form((0, 1), at=-2), form((1, 1))), (4, 3))
BELOW = PadRead(0, (form((0, 2), (1, 1)), form((1, 1))), (3, 3))


@pytest.mark.parametrize("reads", [[INSIDE], [INSIDE, INSIDE], [ABOVE, INSIDE], [BELOW]])
def test_one_read_that_leaves_the_tensor_is_padded_by_itself(reads: list[PadRead]) -> None:
    rewriting = Rewriting((TensorType((4, 3), "f32"),))
    assert padded_once(reads, rewriting, "0.0 : f32") == reads
    assert not rewriting.builder.ops


def test_two_reads_that_leave_the_tensor_share_a_pad() -> None:
    rewriting = Rewriting((TensorType((4, 3), "f32"),))
    found = padded_once([ABOVE, INSIDE, BELOW], rewriting, "0.0 : f32")
    assert rewriting.builder.ops == [Pad(0, 1, (2, 0), (3, 0), "0.0 : f32")]
    assert rewriting.builder.types == [TensorType((9, 3), "f32")]
    assert found == [
        PadRead(1, (form((0, 1)), form((1, 1))), (4, 3)),
        INSIDE,
        PadRead(1, (form((0, 2), (1, 1), at=2), form((1, 1))), (3, 3)),
    ]
