"""Every spelling of a structured op is read: reduce, map, broadcast, elementwise, contract."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

from layoutopt.ir.graph import Opaque
from layoutopt.ir.types import Array, numpy_dtype
from layoutopt.oracle import evaluate
from tests.parsing import lifted, through_text
from tests.property.layouts import small_integers

X, Y, R = "tensor<4x6xE>", "tensor<4x6xE>", "tensor<4xE>"
ID = "affine_map<(i, j) -> (i, j)>"
MK, KN, MN = (f"affine_map<(m, n, k) -> ({dims})>" for dims in ("m, k", "k, n", "m, n"))
Wanted = Callable[[Array, Array, Array], Array]
FORMS: dict[str, tuple[str, str, Wanted]] = {
    "reduce": (
        R,
        f"%r = linalg.reduce ins(%x : {X}) outs(%v : {R}) dimensions = [1]\n"
        "(%a: E, %b: E) {\n%c = arith.addf %a, %b : E\nlinalg.yield %c : E\n}",
        lambda x, y, v: v + x.sum(1),
    ),
    "reduce short": (
        R,
        f"%r = linalg.reduce {{arith.maximumf}} ins(%x : {X}) outs(%v : {R}) dimensions = [1]",
        lambda x, y, v: np.maximum(v, x.max(1)),
    ),
    "map": (
        X,
        f"%r = linalg.map ins(%x, %y : {X}, {Y}) outs(%x : {X})\n"
        "(%a: E, %b: E, %d: E) {\n%c = arith.mulf %a, %b : E\nlinalg.yield %c : E\n}",
        lambda x, y, v: x * y,
    ),
    "map short": (
        X,
        f"%r = linalg.map {{arith.addf}} ins(%x, %y : {X}, {Y}) outs(%x : {X})",
        lambda x, y, v: x + y,
    ),
    "broadcast": (
        X,
        f"%r = linalg.broadcast ins(%v : {R}) outs(%x : {X}) dimensions = [1]",
        lambda x, y, v: np.broadcast_to(v[:, None], (4, 6)),
    ),
    "elementwise": (
        X,
        f"%r = linalg.elementwise <sub> ins(%x, %y : {X}, {Y}) outs(%x : {X}) -> {X}",
        lambda x, y, v: x - y,
    ),
    "elementwise maps": (
        X,
        "%r = linalg.elementwise <add> "
        f"indexing_maps = [{ID}, affine_map<(i, j) -> (i)>, {ID}] "
        f"ins(%x, %v : {X}, {R}) outs(%x : {X}) -> {X}",
        lambda x, y, v: x + v[:, None],
    ),
    "contract": (
        "tensor<4x4xE>",
        f"%r = linalg.contract indexing_maps = [{MK}, {KN}, {MN}] "
        "ins(%x, %w : tensor<4x6xE>, tensor<6x4xE>) outs(%o : tensor<4x4xE>) -> tensor<4x4xE>",
        lambda x, y, v: x @ y.reshape(6, 4),
    ),
    "softmax": (
        X,
        f"%r = linalg.softmax dimension(1) ins(%x : {X}) outs(%y : {Y}) -> {X}",
        lambda x, y, v: np.exp(x) / np.exp(x).sum(1, keepdims=True),
    ),
}


@pytest.mark.parametrize("element", ["f32", "f16", "bf16"])
@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_read_and_means_the_same(form: str, element: str) -> None:
    result, body, wanted = FORMS[form]
    text = (
        f"func.func @f(%x: {X}, %y: {Y}, %v: {R}) -> {result} {{\n"
        "%flat = tensor.collapse_shape %y [[0, 1]] : tensor<4x6xE> into tensor<24xE>\n"
        "%w = tensor.expand_shape %flat [[0, 1]] output_shape [6, 4] : "
        "tensor<24xE> into tensor<6x4xE>\n"
        "%z = arith.constant 0.0 : E\n%e = tensor.empty() : tensor<4x4xE>\n"
        "%o = linalg.fill ins(%z : E) outs(%e : tensor<4x4xE>) -> tensor<4x4xE>\n"
        f"{body}\nreturn %r : {result}\n}}"
    )
    graph = lifted(re.sub(r"\bE\b|(?<=x)E(?=>)", element, text))
    assert not any(isinstance(op, Opaque) for op in graph.ops)
    values = {t: small_integers(graph.types[t], t) for t in range(3)}
    found = evaluate(graph, values)[graph.outputs[0]]
    wide = (values[t].astype("float64") for t in range(3))
    assert found.dtype == numpy_dtype(element)
    np.testing.assert_allclose(found.astype("float64"), wanted(*wide), rtol=0.01)
    again = evaluate(through_text(graph), values)
    np.testing.assert_array_equal(again[through_text(graph).outputs[0]], found)
