"""ONNX Runtime on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from layoutopt.runtime.peers import random_values

PACKAGE = "onnxruntime"


def runner(model: str, threads: int) -> Callable[[], object]:
    """One run of the model on random inputs."""
    import onnxruntime  # noqa: PLC0415 -- optional, and only in the peer's own process

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    feeds = {i.name: random_values(i.shape, _dtype(i.type), rng) for i in session.get_inputs()}
    return lambda: session.run(None, feeds)


def _dtype(kind: str) -> np.dtype[np.generic]:
    """The NumPy dtype of what ONNX Runtime calls ``tensor(int64)``."""
    name = kind.removeprefix("tensor(").removesuffix(")")
    return np.dtype({"float": "float32", "double": "float64"}.get(name, name))
