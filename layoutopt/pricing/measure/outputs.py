"""What one candidate computes, without timing it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from layoutopt.pricing.measure.batch import Batch
from layoutopt.pricing.measure.batch_compile import BatchCompiler, Compiled
from layoutopt.pricing.measure.batch_job import batch_job
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.measure.measurement_run import MeasurementPlan
from layoutopt.runtime.element import Array, load_array
from layoutopt.runtime.workspace import workspace


def outputs_of(plan: MeasurementPlan, benchmark: Benchmark) -> tuple[Array, ...] | None:
    """Compile the candidate, call it once on its own inputs; None where it fails."""
    with workspace() as folder:
        compiler = BatchCompiler(lambda _: plan.compile_one, folder, 1, plan.compile_timeout_s)
        # to its end: where compiling breaks off, tools that run behind it are killed
        (compiled,) = list(compiler.run([Batch((benchmark,), (0,))]))
        return _run(plan, compiled, folder) if isinstance(compiled, Compiled) else None


def _run(plan: MeasurementPlan, compiled: Compiled, folder: Path) -> tuple[Array, ...] | None:
    job = batch_job(compiled, [0], folder, plan.protocol)
    tasks = tuple(replace(task, results=(), outputs=str(folder), many="") for task in job.tasks)
    for verdict in plan.timer.run(replace(job, tasks=tasks, timed=False)):
        if verdict.measurement.ok:
            return tuple(load_array(Path(f.path), f.element) for f in verdict.outputs)
    return None
