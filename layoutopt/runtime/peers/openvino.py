"""OpenVINO on the CPU."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from layoutopt.runtime.peers import random_values

PACKAGE = "openvino"


def runner(model: str, threads: int) -> Callable[[], object]:
    """One run of the model on random inputs."""
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
    feeds = [random_values(list(i.shape), i.element_type.to_dtype(), rng) for i in compiled.inputs]
    return lambda: request.infer(feeds)
