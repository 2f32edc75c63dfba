"""The example models are valid, the same each time, and stay in range."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

from examples import make_models
from tests.marks import long

MODELS = {
    "squeezenet": lambda: make_models.shipped("squeezenet"),
    "mobilenetv2": make_models.mobilenetv2,
    "bert": lambda: make_models.bert(layers=1),
    "mlp": make_models.mlp,
}


def evaluate(model: onnx.ModelProto) -> make_models.Array:
    fed = model.graph.input[0]
    shape = [dim.dim_value for dim in fed.type.tensor_type.shape.dim]
    x = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    results = ReferenceEvaluator(model).run(None, {fed.name: x})
    assert isinstance(results, list)
    return np.asarray(results[0], dtype=np.float32)


@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS.keys())
def test_model_is_valid_and_stays_in_range(build: Callable[[], onnx.ModelProto]) -> None:
    model = build()
    onnx.checker.check_model(model, full_check=True)

    y = evaluate(model)

    assert np.isfinite(y).all()
    assert 0 < np.abs(y).max() < 100
    assert y.std() > 0.1 * np.abs(y).mean()


@pytest.mark.parametrize("name", ["resnet50", long("inception_v1")])
def test_softmax_of_class_scores_is_soft(name: str) -> None:
    y = evaluate(make_models.shipped(name))

    assert np.isclose(y.sum(), 1)
    assert y.max() < 0.5


def test_same_name_gives_the_same_bytes(tmp_path: Path) -> None:
    for run in ("a", "b"):
        make_models.main([str(tmp_path / run), "mlp", "squeezenet"])
    for name in ("mlp.onnx", "squeezenet.onnx"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_every_graph_that_onnx_ships_can_be_named() -> None:
    assert {"densenet121", "inception_v1", "resnet50", "vgg19"} <= set(make_models.MODELS)


def test_unknown_name_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        make_models.main([str(tmp_path), "vgg"])
    assert "argument NAME: invalid choice: 'vgg'" in capsys.readouterr().err
