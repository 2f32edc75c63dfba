"""ONNX Runtime on the CPU."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from layoutopt.ir.types import Array

PACKAGE = "onnxruntime"


def runner(model: str, threads: int, inputs: Sequence[Array]) -> Callable[[], Sequence[Any]]:
    """One run of the model."""
    import onnxruntime  # noqa: PLC0415 -- optional, and only in the peer's own process

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = 3
    # Its threads wait busily, and would go on with it while others have their turn.
    options.add_session_config_entry("session.force_spinning_stop", "1")
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [declared.name for declared in session.get_inputs()]
    feeds = dict(zip(names, inputs, strict=True))
    return lambda: session.run(None, feeds)
