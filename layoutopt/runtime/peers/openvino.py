"""OpenVINO on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from layoutopt.ir.types import Array

PACKAGE = "openvino"


def runner(model: str, threads: int, inputs: Sequence[Array]) -> Callable[[], Sequence[Any]]:
    """One run of the model, in the precision that it is written in."""
    import openvino  # noqa: PLC0415 -- optional, and only in the peer's own process

    compiled = openvino.Core().compile_model(
        model,
        "CPU",
        {
            "INFERENCE_NUM_THREADS": threads,
            "EXECUTION_MODE_HINT": "ACCURACY",
            "PERFORMANCE_HINT": "LATENCY",
        },
    )
    request = compiled.create_infer_request()
    feeds = list(inputs)

    def run() -> Sequence[Any]:
        found = request.infer(feeds)
        return [found[output] for output in compiled.outputs]

    return run
