"""What IREE computes of a candidate on this CPU, where it is measured on another device."""

from __future__ import annotations

from dataclasses import replace

from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.measure.measure import Measurer, MeasureSetting
from layoutopt.profiles.store import Store
from layoutopt.profiles.target import load_target
from layoutopt.runtime.comparison import difference


def is_right_on_cpu(store: Store, benchmark: Benchmark) -> bool:
    """Whether it computes there what the oracle does."""
    host = load_target("host")
    case = benchmark.case()
    if case.unchecked:
        return False
    with Measurer(store, MeasureSetting(host.place)) as measurer:
        outputs = measurer.outputs(replace(benchmark, flags=host.flags))
    return outputs is not None and not difference(outputs, case.results, case.allowed)
