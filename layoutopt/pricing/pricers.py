"""Where the prices of a target come from: measured here, on a farm, or estimated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from layoutopt.options import Options
from layoutopt.pricing.analytic.compiled_kernels import Kernels
from layoutopt.pricing.farm.chunk import setting
from layoutopt.pricing.farm.measurer import FarmMeasurer, connect
from layoutopt.pricing.measure.measure import Measurer, MeasureSetting
from layoutopt.pricing.prices import Analytic, Measured, Pricer
from layoutopt.profiles.store import Store, store_path
from layoutopt.profiles.target import Target, measured_on
from layoutopt.runtime.sampling import Protocol


def at_device(
    target: Target, device: str | None, scheduler: str | None, threads: int
) -> Target:  # fmt: skip
    """The target as it will be measured: on a device, a farm, or with several threads."""
    if device is not None or scheduler is not None:
        target = measured_on(target, device or target.device)
    if threads > 1 and target.device == "local-sync":
        target = replace(target, device="local-task")
    return target


def kernels_path(options: Options) -> Path:
    """The file beside the store of prices that compiled kernels are kept in."""
    return store_path(options.cache).with_name("kernels.jsonl")


@contextmanager
def open_pricer(
    store: Store,
    target: Target,
    options: Options,
    scheduler: str | None = None,
    since: str = "",
) -> Iterator[Pricer]:
    """The source of prices for a target; ``store`` is what it reads first and writes to.

    ``scheduler``: address of the Dask scheduler whose workers measure. InputError where none is.
    ``since``: times measured on this machine before this moment (UTC) are taken anew.
    """
    if not target.measurable:
        kernels = None
        if options.compile_candidates and target.kernel_rates is not None:
            kernels = Kernels(kernels_path(options), target.place)
        yield Analytic(target, kernels, store, options.threads, options.evict_bytes)
    elif scheduler is not None:
        where = setting(target.place, target.device, options.threads, options.evict_bytes)
        with FarmMeasurer(store, connect(scheduler), where) as farm:
            yield Measured(farm)
    else:
        protocol = Protocol(evict_bytes=options.evict_bytes)
        here = MeasureSetting(
            target.place, target.device, options.threads, protocol=protocol, since=since
        )
        with Measurer(store, here) as measurer:
            yield Measured(measurer)
