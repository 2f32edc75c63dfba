"""Where the prices of a target come from: measured here, on a farm, or estimated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from layoutopt.errors import InputError
from layoutopt.ir.weights import ONCE, WeightReuse
from layoutopt.options import Options
from layoutopt.pricing.analytic.compiled_kernels import Kernels
from layoutopt.pricing.farm.chunk import setting
from layoutopt.pricing.farm.measurer import FarmMeasurer, connect
from layoutopt.pricing.measure.measure import Measurer, MeasureSetting
from layoutopt.pricing.measure.second_opinion import is_right_on_cpu
from layoutopt.pricing.measure.setting import place_of
from layoutopt.pricing.prices import Analytic, Measured, Pricer
from layoutopt.pricing.weights_place import (
    CachesLeft,
    caches_left,
    caches_of,
    evicted_bytes,
    weights_of_a_run,
)
from layoutopt.profiles.host import Caches, caches_of_this_machine
from layoutopt.profiles.store import Store, store_path
from layoutopt.profiles.target import Target, measured_on
from layoutopt.runtime.sampling import Protocol, WeightsFrom, launching_on

_OF_PEAK = 0.5
"""What models reach of a core's most operations a second: 0.4 to 0.7 (f32, AVX-512)."""


def at_device(
    target: Target, device: str | None, scheduler: str | None, threads: int
) -> Target:  # fmt: skip
    """The target as it will be measured: on a device, a farm, or with several threads."""
    if device is not None or scheduler is not None:
        target = measured_on(target, device or target.device)
    if threads > 1 and target.device == "local-sync":
        target = replace(target, device="local-task")
    if target.device == "local-task":
        more = threads / target.machine.compute_units
        rates = {element: rate * more for element, rate in target.rates.gflops.items()}
        target = replace(
            target,
            rates=replace(target.rates, gflops=rates),
            machine=replace(target.machine, compute_units=threads),
        )
    return target


def kernels_path(options: Options) -> Path:
    """The file beside the store of prices that compiled kernels are kept in."""
    return store_path(options.cache).with_name("kernels.jsonl")


def weights_of(target: Target, options: Options, weight_reuse: WeightReuse) -> WeightsFrom:
    """Where candidates find their weights, by what comes between two uses of one.

    Raises InputError where the options ask for what is not known to be so on a device.
    """
    if not target.device.startswith("local"):
        known = caches_of(target)
        places = [WeightsFrom.CACHES] if known is None else [WeightsFrom.CACHES, WeightsFrom.MEMORY]
        if target.measurable and options.weights_from not in (None, *places):
            raise InputError(
                "--weights-from",
                f"{' or '.join(repr(str(p)) for p in places)} on {target.device}",
                f"'{options.weights_from}'",
                "leave it out",
            )
        return options.weights_from or weights_of_a_run(weight_reuse, known)
    if options.weights_from is not None:
        return options.weights_from
    if weight_reuse.in_loop:
        return weights_of_a_run(weight_reuse, caches_of_this_machine())
    left = _left(target, options)
    found = weights_of_a_run(weight_reuse, left.usual)
    run_s = weight_reuse.operations / (target.rates.gflops["f32"] * 1e9 * _OF_PEAK)
    stays = found is not WeightsFrom.LAST_CACHE or left.keeps(run_s)
    return found if stays else WeightsFrom.MEMORY


def _left(target: Target, options: Options) -> CachesLeft:
    """What others leave of this machine's caches."""
    return caches_left(target.place, store_path(options.cache).with_name("caches-left.json"))


def _filled(target: Target, options: Options, weights_from: WeightsFrom) -> Caches | None:
    """The caches that other memory fills where weights are driven out of them."""
    if target.device.startswith("local") and weights_from is WeightsFrom.MEMORY:
        return _left(target, options).most
    return caches_of(target)


@contextmanager
def open_pricer(
    store: Store,
    target: Target,
    options: Options,
    scheduler: str | None = None,
    since: str = "",
    weight_reuse: WeightReuse = ONCE,
) -> Iterator[Pricer]:
    """The source of prices for a target; ``store`` is what it reads first and writes to.

    ``scheduler``: address of the Dask scheduler whose workers measure. InputError where none is.
    ``since``: times measured on this machine before this moment (UTC) are taken anew.
    ``weight_reuse``: what comes between two uses of a weight in the model that they are for.
    """
    weights_from = weights_of(target, options, weight_reuse)
    protocol = Protocol(
        launching=launching_on(target.device),
        weights_from=weights_from,
        evict_bytes=evicted_bytes(weights_from, _filled(target, options, weights_from)),
    )
    if not target.measurable:
        kernels = None
        if options.compile_candidates and target.kernel_rates is not None:
            kernels = Kernels(kernels_path(options), target.place)
        yield Analytic(
            target,
            kernels,
            store,
            place_of(target.place, target.device, options.threads, protocol),
        )
        return
    if scheduler is not None:
        where = setting(target.place, target.device, options.threads, protocol)
        with FarmMeasurer(store, connect(scheduler), where) as farm:
            yield Measured(farm)
    else:
        here = MeasureSetting(
            target.place, target.device, options.threads, protocol=protocol, since=since
        )
        local = target.device.startswith("local")
        with Measurer(store, here) as measurer:
            yield Measured(measurer, None if local else partial(is_right_on_cpu, store))
