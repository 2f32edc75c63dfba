"""What a contraction starts from is the same number in the type that its sums are kept in."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from layoutopt.ir.graph import Fill, Structured
from layoutopt.oracle.constant import constant
from layoutopt.rules.rewrites.widen_sums import WidenSums
from layoutopt.rules.rule import Expression, apply


@pytest.mark.parametrize("text", ["0.0", "-0.0", "1.0e-1", "0x3DCC", "0xFF80", "0x7FC0"])
def test_an_init_keeps_its_value(text: str) -> None:
    """0x3DCC and 1.0e-1 are two neighbours in bf16; the others are minus infinity and NaN."""
    rule = WidenSums()
    graph = rule.examples[0].graph
    (op,) = graph.ops
    assert isinstance(op, Structured)
    given = replace(op, inits=(Fill(f"{text} : bf16"),))
    found = apply(rule, replace(graph, ops=(given,)), 0)
    assert isinstance(found, Expression)
    (init,) = (
        i for o in found.ops if isinstance(o, Structured) for i in o.inits[:1] if o.sources[1:]
    )
    assert isinstance(init, Fill)
    narrow, wide = constant(f"{text} : bf16", "bf16"), constant(init.value, "f32")
    assert narrow is not None
    assert wide is not None
    assert np.array_equal(wide, narrow.astype(np.float32), equal_nan=True)
    assert np.signbit(wide) == np.signbit(narrow.astype(np.float32))
