"""Parameters as attributes of a module, with any names."""

import pytest
from iree.compiler import ir

from layoutopt.ir.types import TensorType
from layoutopt.mlir.read.parameters import Parameter, parameter_attribute, parameter_of


@pytest.mark.parametrize(
    "parameter",
    [
        Parameter("model", "blk.0.weight"),
        Parameter("", "w"),
        Parameter("m", "a b>: é, x=1"),
        Parameter("m", 'a\\b"c'),
    ],
)
def test_a_parameter_comes_back(parameter: Parameter) -> None:
    with ir.Context():
        attribute = parameter_attribute(parameter, TensorType((4, 8), "bf16"))
        assert str(attribute.type) == "tensor<4x8xbf16>"
        assert parameter_of(attribute) == parameter


def test_the_flow_dialect_names_parameters_too() -> None:
    with ir.Context():
        attribute = ir.Attribute.parse('#flow.parameter.named<"model"::"w"> : tensor<4xf32>')
        assert parameter_of(attribute) == Parameter("model", "w")
        assert parameter_of(ir.Attribute.parse("dense<1.0> : tensor<4xf32>")) is None
