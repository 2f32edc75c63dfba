"""StableHLO that computes its sizes, against NumPy at several sizes, through IREE."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import layoutopt
from layoutopt.errors import LoweringError
from layoutopt.frontend.converted import ConvertedModels
from layoutopt.frontend.source import open_source
from layoutopt.options import Effort, Objective
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.model import run_model
from tests.computed_sizes import COMPUTED, SIZES, module
from tests.e2e.test_dialects import write_model
from tests.marks import long
from tests.parameters import FLAGS

EXPORTS = Path(__file__).parents[1] / "jax"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("computed")
    (folder / "model.mlir").write_text(module(list(COMPUTED)))
    converted = ConvertedModels(folder / "converted")
    source, _ = open_source(folder / "model.mlir", folder, FLAGS, 60.0, converted)
    output = folder / "model.vmfb"
    outcome = compile_file(source.path, output, (*source.phase_flags, *FLAGS), 300)
    assert outcome.ok, outcome.reason
    return output


@pytest.mark.parametrize("name", COMPUTED)
def test_each_op_is_what_it_is_in_numpy(compiled: Path, name: str) -> None:
    case = COMPUTED[name]
    for seed, (b, s) in enumerate(SIZES):
        given = case.inputs(b, s, seed)
        wanted = case.result(*given)
        (found,) = run_model(compiled, name, given)
        assert found.shape == wanted.shape
        assert np.allclose(found, wanted, rtol=1e-4, atol=1e-4), (name, b, s)


def test_assertions_of_the_model_are_checked(compiled: Path) -> None:
    x, row, w = COMPUTED["broadcast"].inputs(4, 3)
    with pytest.raises(LoweringError, match="expected one b"):
        run_model(compiled, "broadcast", [x, row[:3], w])


@pytest.mark.parametrize("name", ["symbolic_batch", long("symbolic_batch_artifact")])
@pytest.mark.parametrize("suffix", [".mlir", ".mlirbc"])
def test_symbolic_sizes_of_jax_are_planned(tmp_path: Path, name: str, suffix: str) -> None:
    """``symbolic_batch_artifact`` is the same as the portable artifact that is kept in files."""
    model = tmp_path / f"model{suffix}"
    write_model(model, (EXPORTS / f"{name}.mlir").read_text(encoding="utf-8"))
    options = layoutopt.Options(
        cache=tmp_path / "cache", effort=Effort.QUICK, objective=Objective.CONVERSIONS
    )
    plan = layoutopt.optimize(model, options=options)
    (size,) = plan.report.sizes
    assert (size.name, size.low, size.high, size.dims) == ("b", 8, 128, ("arg0.0",))
    assert plan.report.verification is not None
    assert plan.report.verification.passed
    written = tmp_path / "plan.mlir"
    plan.apply(written)
    output = tmp_path / "plan.vmfb"
    outcome = compile_file(written, output, plan.compile_flags, 300)
    assert outcome.ok, outcome.reason
    x = np.arange(16 * 4, dtype=np.float32).reshape(16, 4)
    (found,) = run_model(output, "main", [x])
    assert np.array_equal(found, x + np.arange(1, 5))
    for rows in (0, 12, 136):
        with pytest.raises(LoweringError, match="b: expected a multiple of 8, at least 8, at most"):
            run_model(output, "main", [np.zeros((rows, 4), np.float32)])
