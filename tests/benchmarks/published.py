"""Nine published MI355X figures, each predicted by a model that was fitted to the other eight.

`python -m tests.benchmarks.published` prints them. Figures: iree-org/iree issue 23976. Kernels:
what iree-compile 3.13 makes for gfx950 of the contractions, read from its dumps (`parse_kernel`);
they are facts about the compiled code, not fitted. Six parameters of the machine are fitted. The
form of the model (what comes in whole waves, see `roofline`) was chosen with all nine in view.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from rich.console import Console
from rich.table import Table

from layoutopt.pricing.analytic.calibration import Parameters, fit
from layoutopt.pricing.analytic.kernel import Kernel
from layoutopt.pricing.analytic.roofline import estimate
from layoutopt.profiles.machine import WorkgroupTile
from layoutopt.profiles.target import Target, load_target
from tests.benchmarks.backward import BackwardConvolution, Dispatch, baseline, improved

PRIOR = {
    "launch_ns": 5000.0,  # order of magnitude of a HIP launch
    "stream_share": 0.5,
    "step_ns": 200.0,  # a memory latency, part of it hidden
    "feed_gb_s": 154.0,  # 64 bytes a cycle at 2.4 GHz: the cache line of a compute unit
    "vector_share": 0.1,
    "copy_run_ns": 0.2,
}
PRIOR_WEIGHT = 0.1


@dataclass(frozen=True, slots=True)
class Published:
    """A shape, its two published times in microseconds, and the compiled contractions."""

    shape: BackwardConvolution
    baseline_us: float
    improved_us: float
    kernels: tuple[Kernel, Kernel]


@dataclass(frozen=True, slots=True)
class Prediction:
    """A published row and what the model says of it, in microseconds."""

    row: Published
    baseline_us: float
    improved_us: float

    @property
    def published_speedup(self) -> float:
        """Baseline over improved, as published."""
        return self.row.baseline_us / self.row.improved_us

    @property
    def speedup(self) -> float:
        """Baseline over improved, as predicted."""
        return self.baseline_us / self.improved_us

    @property
    def speedup_error(self) -> float:
        """Relative error of the speed-up."""
        return self.speedup / self.published_speedup - 1

    @property
    def time_error(self) -> float:
        """The larger of the two relative errors of the times, without sign."""
        errors = (
            self.baseline_us / self.row.baseline_us - 1,
            self.improved_us / self.row.improved_us - 1,
        )
        return max(map(abs, errors))


def _kernel(
    matrix: int, vgprs: int, lds_bytes: int, workgroup: int, tile: tuple[int, int, int] | None
) -> Kernel:
    made = None if tile is None else WorkgroupTile(*tile)
    return Kernel("", matrix, vgprs, 0, lds_bytes, workgroup, 64, made)


def _row(
    figures: tuple[float, float], kernels: tuple[Kernel, Kernel], *shape: int, element: str
) -> Published:
    size, *rest = shape
    return Published(BackwardConvolution(size, element, *rest), *figures, kernels)


_NARROW = (_kernel(14, 38, 12288, 256, (64, 32, 32)), _kernel(14, 42, 12288, 256, (64, 32, 32)))
_SHORT = (_kernel(16, 82, 24576, 256, (64, 128, 32)), _kernel(16, 82, 24576, 256, (64, 128, 32)))
_WIDE = (_kernel(64, 170, 50688, 256, (64, 128, 128)), _kernel(64, 174, 50688, 256, (64, 128, 128)))
_GROUPED = (_kernel(36, 0, 0, 128, (128, 8, 8)),) * 2
_VECTOR = (_kernel(0, 0, 0, 64, None),) * 2

PUBLISHED = (
    _row((469, 69), _NARROW, 1, 4, 32, 470, 725, 224, 1, element="bf16"),
    _row((650, 193), _SHORT, 1, 12, 896, 59, 91, 2016, 1, element="bf16"),
    _row((648, 220), _WIDE, 1, 32, 1024, 50, 50, 2048, 1, element="f16"),
    _row((831, 292), _WIDE, 1, 32, 512, 100, 100, 1024, 1, element="f16"),
    _row((502, 179), _WIDE, 1, 10, 448, 118, 182, 896, 1, element="bf16"),
    _row((4580, 2580), _GROUPED, 3, 32, 256, 200, 200, 256, 32, element="f16"),
    _row((341, 274), _VECTOR, 3, 1, 3, 940, 1450, 32, 1, element="bf16"),
    _row((1575, 1293), _VECTOR, 3, 5, 3, 940, 1450, 32, 1, element="bf16"),
    _row((931, 783), _VECTOR, 3, 3, 3, 940, 1450, 32, 1, element="bf16"),
)


def calibrated(target: Target, parameters: Parameters) -> Target:
    """The target with fitted parameters in the place of its own."""
    machine = {name: value for name, value in parameters.items() if name != "launch_ns"}
    return replace(
        target,
        rates=replace(target.rates, launch_ns=parameters["launch_ns"]),
        machine=replace(target.machine, **machine),  # type: ignore[arg-type]
    )


def predict(row: Published, target: Target) -> Prediction:
    """Both times of a row on a target."""
    first, second = row.kernels
    times = (_total_us(baseline(row.shape, first), target),
             _total_us(improved(row.shape, second), target))  # fmt: skip
    return Prediction(row, *times)


def calibrate(
    rows: Sequence[Published], target: Target, prior_weight: float = PRIOR_WEIGHT
) -> dict[str, float]:
    """The six parameters that explain the times of these rows best."""

    def times(parameters: Parameters) -> list[float]:
        made = [predict(row, calibrated(target, parameters)) for row in rows]
        return [time for p in made for time in (p.baseline_us, p.improved_us)]

    measured = [time for row in rows for time in (row.baseline_us, row.improved_us)]
    return fit(PRIOR, times, measured, prior_weight)


def leave_one_out(
    rows: Sequence[Published], target: Target, family: bool = False,
    prior_weight: float = PRIOR_WEIGHT,
) -> tuple[Prediction, ...]:  # fmt: skip
    """Each row as the other rows predict it.

    ``family``: rows that differ in the batch size alone are left out together.
    """
    return tuple(
        predict(row, calibrated(target, calibrate(
            [other for other in rows if not _related(row, other, family)], target, prior_weight
        )))
        for row in rows
    )  # fmt: skip


def mean_speedup_error(predictions: Sequence[Prediction]) -> float:
    """Mean absolute relative error of the speed-ups."""
    return statistics.fmean(abs(p.speedup_error) for p in predictions)


def pairs_in_order(predictions: Sequence[Prediction]) -> tuple[int, int]:
    """Pairs of rows whose speed-ups are predicted in the published order, and all pairs."""
    pairs = list(combinations(predictions, 2))
    kept = sum((a.speedup > b.speedup) == (a.published_speedup > b.published_speedup)
               for a, b in pairs)  # fmt: skip
    return kept, len(pairs)


def _related(row: Published, other: Published, family: bool) -> bool:
    if family:
        return replace(row.shape, n=1) == replace(other.shape, n=1)
    return row is other


def _total_us(dispatches: Sequence[Dispatch], target: Target) -> float:
    return sum(estimate(work, target, kernel).ns for work, kernel in dispatches) / 1e3


def show(console: Console, family: bool = False) -> None:
    """Print the table and the three figures that it is about."""
    target = load_target("mi355x")
    predictions = leave_one_out(PUBLISHED, target, family)
    table = Table(title="Each row predicted from the others", box=None)
    for name in ("shape", "baseline us", "predicted", "improved us", "predicted", "speed-up",
                 "predicted", "error"):  # fmt: skip
        table.add_column(name, justify="left" if name == "shape" else "right")
    for p in predictions:
        table.add_row(
            str(p.row.shape), f"{p.row.baseline_us:.0f}", f"{p.baseline_us:.0f}",
            f"{p.row.improved_us:.0f}", f"{p.improved_us:.0f}", f"{p.published_speedup:.2f}",
            f"{p.speedup:.2f}", f"{100 * p.speedup_error:+.0f} %",
        )  # fmt: skip
    console.print(table)
    close = sum(p.time_error < 0.35 for p in predictions)
    kept, pairs = pairs_in_order(predictions)
    console.print(
        f"Mean absolute error of the speed-ups: {100 * mean_speedup_error(predictions):.1f} %. "
        f"Both times within 35 %: {close} of {len(predictions)}. Pairs in the published order: "
        f"{kept} of {pairs}.",
        highlight=False, soft_wrap=True,
    )  # fmt: skip
    fitted = calibrate(PUBLISHED, target)
    console.print("Fitted to all rows: " + ", ".join(f"{k} {v:.4g}" for k, v in fitted.items()),
                  highlight=False, soft_wrap=True)  # fmt: skip


if __name__ == "__main__":
    show(Console(width=140))
    show(Console(width=140), family=True)
