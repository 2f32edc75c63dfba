"""Other runtimes on the same ONNX model, each in a process of its own.

``python -m layoutopt.runtime.peers NAME MODEL THREADS`` prints median milliseconds as JSON.
"""

from __future__ import annotations

import importlib.util
import json
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from layoutopt.errors import InputError
from layoutopt.ir.types import Array
from layoutopt.runtime.process import Ended, run_tool
from layoutopt.runtime.reason import failure_reason

PEERS = {"onnxruntime": "onnxruntime", "openvino": "openvino"}
"""Names on the command line, and the package that each needs."""
_RUNS, _WARM_UPS = 9, 2


def check_peers(names: tuple[str, ...]) -> None:
    """Raises InputError for a peer that is unknown or not installed."""
    for name in names:
        if name not in PEERS:
            raise InputError(
                "--peers", f"names among {', '.join(PEERS)}", f"'{name}'", "leave it out"
            )
        if importlib.util.find_spec(PEERS[name]) is None:
            raise InputError(
                "--peers",
                f"the package '{PEERS[name]}'",
                "none installed",
                f"run `pip install {PEERS[name]}` or leave it out",
            )


def time_peer(name: str, model: Path, threads: int, timeout_s: float = 300.0) -> float:
    """Median milliseconds of one run. Raises InputError where the peer fails."""
    command = [sys.executable, "-m", "layoutopt.runtime.peers", name, str(model), str(threads)]
    run = run_tool(command, timeout_s)
    if run.ended is not Ended.OK:
        raise InputError(
            str(model),
            f"a model that {name} runs",
            failure_reason(name, run, timeout_s),
            "leave the peer out",
        )
    return float(json.loads(run.stdout.splitlines()[-1])["milliseconds"])


def _onnxruntime(model: str, threads: int) -> Callable[[], object]:
    import onnxruntime  # noqa: PLC0415 -- optional, and only in the peer's own process

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    feeds = {i.name: _values(i.shape, _onnx_dtype(i.type), rng) for i in session.get_inputs()}
    return lambda: session.run(None, feeds)


def _openvino(model: str, threads: int) -> Callable[[], object]:
    import openvino  # noqa: PLC0415 -- optional, and only in the peer's own process

    compiled = openvino.Core().compile_model(
        model,
        "CPU",
        {
            "INFERENCE_NUM_THREADS": threads,
            "INFERENCE_PRECISION_HINT": "f32",
            "PERFORMANCE_HINT": "LATENCY",
        },
    )
    request = compiled.create_infer_request()
    rng = np.random.default_rng(0)
    feeds = [_values(list(i.shape), i.element_type.to_dtype(), rng) for i in compiled.inputs]
    return lambda: request.infer(feeds)


def _onnx_dtype(kind: str) -> np.dtype[np.generic]:
    """The NumPy dtype of what ONNX Runtime calls ``tensor(int64)``."""
    name = kind.removeprefix("tensor(").removesuffix(")")
    return np.dtype({"float": "float32", "double": "float64"}.get(name, name))


def _values(
    shape: Sequence[int], dtype: np.dtype[np.generic], rng: np.random.Generator
) -> Array:  # fmt: skip
    """Random values of the type that a model takes.

    Integers may be positions in some table, such as token ids: zeros and ones exist in any.
    """
    if dtype.kind in "iub":
        return rng.integers(0, 2, shape).astype(dtype)
    return rng.standard_normal(shape).astype(dtype)


def _main() -> None:
    name, model, threads = sys.argv[1:]
    run = {"onnxruntime": _onnxruntime, "openvino": _openvino}[name](model, int(threads))
    samples = []
    for _ in range(_WARM_UPS + _RUNS):
        start = time.perf_counter()
        run()
        samples.append(1e3 * (time.perf_counter() - start))
    print(json.dumps({"milliseconds": statistics.median(samples[_WARM_UPS:])}))


if __name__ == "__main__":
    _main()
