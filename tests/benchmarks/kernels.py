"""Published timings of kernels that IREE compiled, against the model of compiled kernels.

`python -m tests.benchmarks.kernels` fits the costs in the `kernel` tables of mi300x and mi355x,
leaves each source out in turn, and prints how far off the others' costs are on it. `--compile`
reads kernels that are missing.

Rows: `published.csv`, each with its source. Kernels: what iree-compile 3.13 makes of them, kept in
`published_kernels.json`: rows of older versions of IREE ran other kernels, which is part of the
error. Left out are rows whose time the compiled kernel's matrix instructions alone exceed, and of a
pull request that shows two configurations the one that the compiled kernel does not have.
"""

from __future__ import annotations

import csv
import math
import statistics
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import msgspec
from rich.console import Console

from layoutopt.pricing.analytic.calibration import Parameters, fit
from layoutopt.pricing.analytic.compiled.read_module import Step
from layoutopt.pricing.analytic.estimate import estimate_steps
from layoutopt.profiles.target import Target, load_target
from tests.benchmarks.published_rows import Row

HERE = Path(__file__).parent
KERNELS = HERE / "published_kernels.json"
TARGETS = {"gfx942": "mi300x", "gfx950": "mi355x"}
PRIOR_WEIGHT = 1.0
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


def timed_rows() -> tuple[Timed, ...]:
    """All rows with kernels, those left out that the compiled kernel cannot be."""
    with (HERE / "published.csv").open(encoding="utf-8", newline="") as file:
        rows = [Row.of(fields) for fields in csv.DictReader(file)]
    kept = read_kernels()
    found = [Timed(row, kept[row.key]) for row in rows if row.key in kept]
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
    return [estimate_steps(t.steps, targets[t.row.arch]).ns / 1e3 for t in rows]


def calibrate(rows: Sequence[Timed]) -> dict[str, float]:
    """The costs that explain these rows best."""
    measured = [t.row.time_us for t in rows]
    return fit(PRIOR, lambda costs: predictions(rows, costs), measured, PRIOR_WEIGHT)


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
        from tests.benchmarks.published_rows import compiled_rows

        known = read_kernels() if KERNELS.is_file() else {}
        keep(compiled_rows(HERE / "published.csv", known))
    show(Console(width=140))
