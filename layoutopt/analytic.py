"""Estimated cost of a dispatch on a target that is not here: a roofline with form penalties.

time = launch + max(operations / (peak * share of the form), bytes / (bandwidth * share))

after Williams, Waterman, Patterson, "Roofline" (CACM 2009). The shares are the target's; the
bytes are those of the emitted form, padding included.
"""

from __future__ import annotations

import math

from layoutopt.affine import plain_dims
from layoutopt.candidate import PhysicalForm
from layoutopt.cluster import is_windowed
from layoutopt.graph import Op, Reshape, Scatter, Structured
from layoutopt.mlir.named import named_op
from layoutopt.profiles.target import Target


def estimate_ns(form: PhysicalForm, target: Target) -> int:
    """Nanoseconds that one run of the form takes, zero where nothing runs."""
    if form.is_free:
        return 0
    graph = form.graph
    touched = dict.fromkeys((*form.inputs, *form.weights, *form.outputs))
    size = sum(graph.types[t].size_bytes for t in touched)
    rates = target.rates
    compute_ns = 0.0
    share = 1.0
    passes = 0  # a fill and each strided copy run on their own
    for op in graph.ops:
        if isinstance(op, Structured) and op.is_contraction:
            element = graph.types[op.sources[0]].element
            peak = rates.gflops.get(element, rates.gflops["f32"])
            compute_ns += 2 * math.prod(op.domain) / (peak * rates.efficiency[_form_name(op)])
        elif isinstance(op, Scatter) and not op.computed:
            passes += len(op.sources) - (op.background is None)
            if op.background is not None:
                size += graph.types[op.result].size_bytes
        elif _is_scattered(op):
            share = min(share, rates.efficiency["copy"])
    memory_ns = size / (rates.bandwidth_gb_s * share)
    return round(rates.launch_ns * (1 + passes) + max(compute_ns, memory_ns))


def _form_name(op: Structured) -> str:
    named = named_op(op)
    if named is None:
        return "conv_other" if is_windowed(op) else "generic"
    if "matmul" in named.name or named.name in ("matvec", "vecmat", "dot", "mmt4d", "batch_mmt4d"):
        return "matmul"
    image = named.name.split("_")[-2]
    return "conv_nhwc" if image.endswith("c") else "conv_nchw"


def _is_scattered(op: Op) -> bool:
    """Whether neighbours in the result are not neighbours in some input."""
    if isinstance(op, Reshape) or not isinstance(op, Structured) or not op.source_maps:
        return False
    result = plain_dims(op.result_maps[0])
    if not result or not op.is_elementwise:
        return False
    last = next((d for d in reversed(result) if op.domain[d] != 1), None)
    return any(
        m and any(last in form.dims for form in m) and last not in m[-1].dims
        for m in op.source_maps
    )
