"""ONNX Runtime on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

PACKAGE = "onnxruntime"


def runner(model: str, threads: int) -> Callable[[], object]:
    """One run of the model on random inputs."""
    import onnxruntime  # noqa: PLC0415 -- optional, and only in the peer's own process

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    rng = np.random.default_rng(0)
    feeds = {i.name: rng.standard_normal(i.shape).astype(np.float32) for i in session.get_inputs()}
    return lambda: session.run(None, feeds)
