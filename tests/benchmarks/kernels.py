"""Published timings of kernels that IREE compiled, against the model of compiled kernels.

`python -m tests.benchmarks.kernels` fits the costs in the `kernel` tables of mi300x and mi355x,
leaves each source out in turn, and prints how far off the others' costs are on it. `--compile`
reads kernels that are missing; `--compiler 3.8=PATH` names the `iree-compile` of another release.

Rows: `published.csv`, each with its source and the release of IREE that is nearest to what was
timed. Kernels: what that release makes of them, kept in `published_kernels.json`. Left out are rows
that another kernel ran: those whose time the kernel's matrix instructions alone exceed, and of a
pull request that shows two configurations the one that the compiled kernel does not have. Not in
the file are GEMMs in bf16 of October 2024 with 16 columns and more: they took 7 to 30 times as long
as in f16, without matrix instructions, which the release of three weeks later has for them.
"""

from __future__ import annotations

import csv
import math
import statistics
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path

import msgspec
import numpy as np
from rich.console import Console

from layoutopt.pricing.analytic.compiled.read_module import Step
from layoutopt.pricing.analytic.estimate import estimate_steps
from layoutopt.profiles.target import Target, load_target
from tests.benchmarks.fitting import Parameters, fit
from tests.benchmarks.published_rows import Row

HERE = Path(__file__).parent
KERNELS = HERE / "published_kernels.json"
TARGETS = {"gfx942": "mi300x", "gfx950": "mi355x"}
PRIOR_WEIGHT = 0.5
SHARED = {
    "vector": 1.0,
    "scalar": 0.5,
    "line": 2.0,  # 64 bytes a cycle
    "load": 1000.0,  # a memory latency, part of it hidden
    "store": 500.0,
    "barrier": 50.0,
    "workgroup": 500.0,
    "hiding": 2.0,
    "overlap": 2.0,
    "sharing": 4.0,
}
OWN = {
    "gfx942": {
        "launch_ns": 3300.0,
        "matrix": 1.2,
        "lds": 2.0,  # reads half as many bytes a cycle as its successor
        "l2_gb_s": 24500.0,  # 60 % of 128 bytes a cycle of 16 channels of 8 chiplets
        "cache_gb_s": 10300.0,  # 60 % of the peak, as the next ones
        "memory_gb_s": 3200.0,
        "copy_gb_s": 2100.0,
    },
    "gfx950": {
        "launch_ns": 3300.0,
        "matrix": 1.2,
        "lds": 1.0,
        "l2_gb_s": 23600.0,
        "cache_gb_s": 10300.0,
        "memory_gb_s": 4800.0,
        "copy_gb_s": 3200.0,
    },
}
PRIOR = SHARED | {f"{name} {arch}": v for arch, own in OWN.items() for name, v in own.items()}
CALL = "call_us"
"""Of a row timed by the clock of the host: the way to the device and back."""
PRIOR[CALL] = 60.0  # 40 to 80, by the smallest of these rows
LEAST = {"vector": 1.0} | {f"matrix {arch}": 1.0 for arch in TARGETS}
"""No unit is faster than its data sheet says."""
MOST_ROWS = 40
"""As many rows of one source count in full: more of them count as these do together."""
DIFFERENT = 1.2
"""Times closer than by this factor say nothing about the order of two kernels."""


@dataclass(frozen=True, slots=True)
class Timed:
    """A published time and what the compiler makes of the same computation today."""

    row: Row
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Errors:
    """How well predictions of one source, or of several, do."""

    rows: int
    median: float
    """Of |predicted / published - 1|."""
    log_error: float
    """Error of the logarithm that two of three predictions stay within."""
    ordered: float
    """Share of the pairs that differ by more than a fifth that are in the right order."""
    pairs: int


def read_rows() -> tuple[Row, ...]:
    """All rows, in the order of the file."""
    with (HERE / "published.csv").open(encoding="utf-8", newline="") as file:
        return tuple(Row.of(fields) for fields in csv.DictReader(file))


def timed_rows() -> tuple[Timed, ...]:
    """All rows with kernels, those left out that the compiled kernel cannot be."""
    kept = read_kernels()
    found = [Timed(row, kept[row.key]) for row in read_rows() if row.key in kept]
    return tuple(t for t in found if _is_possible(t) and t.row.direct_to_lds in (None, _direct(t)))


def read_kernels() -> dict[str, tuple[Step, ...]]:
    """Of each row, by its key."""
    return msgspec.json.decode(KERNELS.read_bytes(), type=dict[str, tuple[Step, ...]])


def _is_possible(timed: Timed) -> bool:
    """Whether the matrix instructions of the kernels fit into the published time."""
    target = load_target(TARGETS[timed.row.arch])
    assert target.kernel_rates is not None
    cycles = sum(
        math.ceil(k.workgroups / target.machine.compute_units)
        * math.ceil(k.waves / target.machine.simds)
        * sum(body.rounds * body.counts.matrix_cycles for body in k.bodies)
        for step in timed.steps
        for k in [step.kernel]
        if k is not None
    )
    return cycles / target.kernel_rates.clock_ghz <= 1e3 * timed.row.time_us


def _direct(timed: Timed) -> bool:
    """Whether the kernel with the most matrix instructions loads to LDS directly."""
    kernels = [step.kernel for step in timed.steps if step.kernel is not None]
    main = max(kernels, key=lambda k: sum(body.counts.matrix for body in k.bodies))
    return not any(body.counts.lds_writes for body in main.bodies)


def with_costs(target: Target, arch: str, costs: Parameters) -> Target:
    """The target with these costs in the place of its own."""
    own = {name: costs[f"{name} {arch}"] for name in OWN[arch]}
    rates = {name: costs[name] for name in SHARED} | own
    launch_ns = rates.pop("launch_ns")
    assert target.kernel_rates is not None
    return replace(
        target,
        rates=replace(target.rates, launch_ns=launch_ns),
        kernel_rates=replace(target.kernel_rates, **rates),
    )


def predictions(rows: Sequence[Timed], costs: Parameters | None = None) -> list[float]:
    """Microseconds of each row; with the costs of the targets' files unless others are given."""
    targets = {arch: load_target(name) for arch, name in TARGETS.items()}
    if costs is not None:
        targets = {arch: with_costs(target, arch, costs) for arch, target in targets.items()}
    call_us = (costs or PRIOR)[CALL]
    return [
        estimate_steps(t.steps, targets[t.row.arch]).ns / 1e3 + call_us * t.row.with_call
        for t in rows
    ]


def calibrate(rows: Sequence[Timed]) -> dict[str, float]:
    """The costs that explain these rows best."""
    measured = [t.row.time_us for t in rows]
    many = Counter(t.row.source for t in rows)
    weights = [min(1.0, MOST_ROWS / many[t.row.source]) for t in rows]
    predict = partial(predictions, rows)
    return fit(PRIOR, predict, measured, weights, LEAST, PRIOR_WEIGHT)


def errors_of(rows: Sequence[Timed], predicted: Sequence[float]) -> Errors:
    """How far off predictions of some rows are."""
    off = [abs(p / t.row.time_us - 1) for t, p in zip(rows, predicted, strict=True)]
    logs = sorted(abs(math.log(p / t.row.time_us)) for t, p in zip(rows, predicted, strict=True))
    right = pairs = 0
    for (a, pa), (b, pb) in combinations(zip(rows, predicted, strict=True), 2):
        if a.row.arch == b.row.arch and not (
            1 / DIFFERENT <= a.row.time_us / b.row.time_us <= DIFFERENT
        ):
            pairs += 1
            right += (pa > pb) == (a.row.time_us > b.row.time_us)
    two_thirds = logs[min(len(logs) - 1, round(len(logs) * 2 / 3))]
    return Errors(len(rows), statistics.median(off), two_thirds, right / max(pairs, 1), pairs)


@dataclass(frozen=True, slots=True)
class LayoutErrors:
    """How well predictions tell what an image in NHWC saves over one in NCHW, or loses."""

    pairs: int
    ratio: float
    """Median error of the ratio of the two times."""
    winners: float
    """Share of the pairs that differ by more than a fifth where the right one is faster."""
    clear: int
    """Such pairs."""


def layout_errors(rows: Sequence[Timed], predicted: Sequence[float]) -> LayoutErrors:
    """Convolutions of the same sizes in two layouts, times of the same kernel averaged."""
    times: dict[tuple[object, ...], dict[str, list[tuple[float, float]]]] = {}
    for t, p in zip(rows, predicted, strict=True):
        image, _, filters = t.row.layout.partition(" ")
        if filters:
            what = (t.row.source, t.row.element, t.row.result, t.row.sizes)
            both = times.setdefault(what, {})
            both.setdefault(image, []).append((math.log(t.row.time_us), math.log(p)))
    off, right = [], []
    for both in times.values():
        if len(both) == 2:
            first, second = (np.mean(both[image], axis=0) for image in ("NHWC", "NCHW"))
            measured, said = map(float, second - first)
            off.append(abs(math.expm1(said - measured)))
            if abs(measured) > math.log(DIFFERENT):
                right.append((said > 0) == (measured > 0))
    ratio = statistics.median(off) if off else 0.0
    return LayoutErrors(len(off), ratio, sum(right) / max(len(right), 1), len(right))


def held_out(rows: Sequence[Timed], source: str) -> tuple[list[Timed], list[float]]:
    """The rows of a source, and what the costs that fit all other sources say of them."""
    mine = [t for t in rows if t.row.source == source]
    costs = calibrate([t for t in rows if t.row.source != source])
    return mine, predictions(mine, costs)


def sources(rows: Iterable[Timed]) -> tuple[str, ...]:
    """In the order of the file."""
    return tuple(dict.fromkeys(t.row.source for t in rows))


def show(console: Console) -> None:
    """Print the held-out errors by source and by machine, and the costs that fit all rows."""
    rows = timed_rows()
    by_arch: dict[str, tuple[list[Timed], list[float]]] = {arch: ([], []) for arch in TARGETS}
    for source in sources(rows):
        mine, predicted = held_out(rows, source)
        arch = mine[0].row.arch
        by_arch[arch][0].extend(mine)
        by_arch[arch][1].extend(predicted)
        _print(console, f"{source} left out", errors_of(mine, predicted))
        _print_layouts(console, mine, predicted)
    for arch, (mine, predicted) in by_arch.items():
        found = errors_of(mine, predicted)
        _print(console, f"{TARGETS[arch]}, each source out in turn", found)
    for arch, name in TARGETS.items():
        own = [t for t in rows if t.row.arch == arch]
        _print(console, f"{name}, costs of its file", errors_of(own, predictions(own)))
    costs = calibrate(rows)
    console.print("Fitted to all rows:", {name: float(f"{v:.3g}") for name, v in costs.items()})


def _print(console: Console, what: str, found: Errors) -> None:
    factor = math.exp(found.log_error)
    console.print(
        f"{what}: {found.rows} rows, median error {100 * found.median:.1f} %, two of three within "
        f"a factor of {factor:.2f}, {100 * found.ordered:.1f} % of {found.pairs} pairs in the "
        "published order",
        highlight=False, soft_wrap=True,
    )  # fmt: skip


def _print_layouts(console: Console, rows: Sequence[Timed], predicted: Sequence[float]) -> None:
    found = layout_errors(rows, predicted)
    if found.pairs:
        console.print(
            f"  NHWC over NCHW: {found.pairs} pairs, median error of the ratio "
            f"{100 * found.ratio:.1f} %, the faster one in {100 * found.winners:.1f} % of the "
            f"{found.clear} that differ by more than a fifth",
            highlight=False, soft_wrap=True,
        )  # fmt: skip


def keep(kernels: Mapping[str, tuple[Step, ...]]) -> None:
    """Write the kernels of the rows, numbers with six digits."""
    text = msgspec.json.encode(_rounded(msgspec.to_builtins(dict(sorted(kernels.items())))))
    KERNELS.write_bytes(msgspec.json.format(text, indent=0).replace(b"}},", b"}},\n") + b"\n")


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(part) for key, part in value.items()}
    return [_rounded(part) for part in value] if isinstance(value, list | tuple) else value


if __name__ == "__main__":
    if "--compile" in sys.argv:
        from tests.benchmarks.published_kernels import compiled_rows

        known = read_kernels() if KERNELS.is_file() else {}
        named = [argument.partition("=") for argument in sys.argv if "=" in argument]
        keep(compiled_rows(read_rows(), known, {release: path for release, _, path in named}))
    show(Console(width=140))
