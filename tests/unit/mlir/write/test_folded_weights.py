"""Weights that are computed while the module is written, and those that are left to the module."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from iree.compiler import ir

from layoutopt.ir.graph import Graph, Op, Opaque, Pad
from layoutopt.ir.types import TensorType, numpy_dtype
from layoutopt.mlir.write.folded_weights import folded_weights
from layoutopt.mlir.write.weight_initializers import Initializer

SOURCE, PLANNED = 7, 9
"""The model's constant, and the tensor of the planned graph that stands for what is made of it."""
SPREAD = "dense<[[1.0, -0.0], [2.0, 3.0], [4.0, 5.0]]>"


def padded(rows: int, element: str = "f32") -> Initializer:
    """Three rows of two columns, with rows of 0.5 behind them."""
    types = TensorType((3, 2), element), TensorType((3 + rows, 2), element)
    return computed(types, Pad(0, 1, (0, 0), (rows, 0), "0.5"))


def computed(types: tuple[TensorType, ...], op: Op) -> Initializer:
    return Initializer(Graph(types, (op,), (0,), (1,)), {SOURCE: 0}, ((1, PLANNED),))


def folded(weights: Initializer, value: str, element: str = "f32") -> Any | None:
    """What becomes of the weights if their source is ``value``; None where nothing does."""
    with ir.Context(), ir.Location.unknown():
        text = f"util.global private @w = {SPREAD} : tensor<3x2xf32>\n"
        text += f"func.func @f() {{\n  %0 = {value} : tensor<3x2x{element}>\n  return\n}}"
        module = ir.Module.parse(text)
        function = list(module.body.operations)[-1].operation
        source = next(iter(function.regions[0].blocks[0].operations)).operation
        found = folded_weights(weights, {SOURCE: source.results[0]})
        return None if found is None else np.array(found[PLANNED])


@pytest.mark.parametrize("element", ["f32", "f16"])
def test_elements_are_computed_as_the_type_has_them(element: str) -> None:
    found = folded(padded(1, element), f"arith.constant {SPREAD}", element)
    expected = np.array([[1, -0.0], [2, 3], [4, 5], [0.5, 0.5]]).astype(numpy_dtype(element))
    assert found is not None
    assert (found.dtype, found.tobytes()) == (expected.dtype, expected.tobytes())


def test_a_splat_is_as_many_elements_as_it_says() -> None:
    found = folded(padded(1), "arith.constant dense<2.0>")
    assert found is not None
    assert found.tolist() == [[2, 2], [2, 2], [2, 2], [0.5, 0.5]]


def test_what_is_not_there_as_numbers_is_left_to_the_module() -> None:
    assert folded(padded(1), "util.global.load @w") is None
    assert folded(padded(1, "bf16"), f"arith.constant {SPREAD}", "bf16") is None


def test_what_the_oracle_does_not_know_is_left_to_the_module() -> None:
    unknown = Opaque("test.op", (0,), (1,), "not known")
    types = TensorType((3, 2), "f32"), TensorType((3, 2), "f32")
    assert folded(computed(types, unknown), f"arith.constant {SPREAD}") is None


def test_what_grows_many_times_is_left_to_the_module() -> None:
    assert folded(padded(21), f"arith.constant {SPREAD}") is not None
    assert folded(padded(22), f"arith.constant {SPREAD}") is None
