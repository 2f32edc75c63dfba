"""The report: everything a plan has to say, as plain values that become JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path

import msgspec

from layoutopt.errors import InputError, why
from layoutopt.files.written import write_text
from layoutopt.options import Objective
from layoutopt.pricing.source import PriceSource
from layoutopt.report.checks import UncheckedReport, VerificationReport
from layoutopt.report.kernels import KernelReport
from layoutopt.report.resources import MemoryReport, TradeOffReport
from layoutopt.report.solver import SolverReport
from layoutopt.report.validation import Validation

VERSION = 3
"""Of the JSON form: grows when a field changes its name or its meaning."""


@dataclass(frozen=True, slots=True)
class Side:
    """The model before or after: ops that move data, dispatches, milliseconds."""

    pack: int
    unpack: int
    transpose: int
    """Like the two above, ops of the module that run on each call, as the census counts them."""
    dispatches: int | None
    """As ``Report.dispatches_by`` says; None where they could not be counted."""
    predicted_ms: float | None
    """Sum of the prices of what is planned; None where something of that has no price."""
    measured_ms: float | None
    im2col: int = 0
    """Those of ``transpose`` that copy windows (im2col)."""
    predicted_range_ms: tuple[float, float] | None = None
    """One standard error of each estimate down and up; None where no price is an estimate."""


@dataclass(frozen=True, slots=True)
class ChoiceReport:
    """One cluster of the plan; ``runner_up_ns`` is the best candidate of another form or layout.

    Of those that read what the plan has: others need more than themselves.
    """

    function: str
    op: str
    form: str
    layouts: dict[str, str]
    cost_ns: int
    runner_up_ns: int | None
    runner_up: str | None
    makes: tuple[str, ...] = ()
    """Those of the tensors in ``layouts`` that it makes; it reads the others."""
    tried: int = 0
    """Candidates for what it makes that have a price, itself included."""
    operations: int | None = None
    """Multiplications and additions of its contractions; None where it is priced at several sizes,
    or moves nothing."""
    size_bytes: int | None = None
    """Of the tensors that its dispatches read and write, each once."""
    roof_ns: float | None = None
    """Its least time at the target's peak rates of arithmetic and memory."""

    @property
    def of_roof(self) -> float | None:
        """The share of these rates that it reaches; above 1 where caches do better than memory."""
        return self.roof_ns / self.cost_ns if self.roof_ns is not None and self.cost_ns else None


@dataclass(frozen=True, slots=True)
class ConversionReport:
    """A conversion that stays, and why."""

    function: str
    tensor: str
    kind: str
    source: str
    target: str
    size_bytes: int | None
    cost_ns: int | None
    """None for what came with the model: it has no price."""
    reason: str
    moves: tuple[str, ...] = ()
    """``pack``, ``unpack`` or ``transpose``: the ops that it is in the module."""


@dataclass(frozen=True, slots=True)
class SizeReport:
    """A size that is known at run time only, and what is planned for: times are there."""

    function: str
    name: str
    """``arg0.1`` is dim 1 of the first argument."""
    low: int
    high: int | None
    """None where nothing bounds it."""
    planned: tuple[int, ...]
    dims: tuple[str, ...] = ()
    """Of arguments, those that the model gives this name (``arg0.1``)."""


@dataclass(frozen=True, slots=True)
class SpecializationReport:
    """One of several plans of a function, each for a range of its sizes."""

    function: str
    ranges: str
    """The sizes that it serves: ``11 < arg0.1 <= 512``."""
    name: str
    """What the rows of its choices and conversions have as their function."""
    share: float
    """What the sizes that it was planned at count, of one for all."""
    predicted_ms: float
    """The weighted mean over those sizes."""


@dataclass(frozen=True, slots=True)
class AtSizesReport:
    """A function at one of several sizes that are planned for; times in milliseconds."""

    function: str
    sizes: dict[str, int]
    weight: float
    ranges: str
    """The sizes that its plan there serves; empty where one plan serves all."""
    predicted_ms: float | None
    """Of the plan that serves it; None where its prices are not known by size."""
    one_plan_ms: float | None
    """The same of the one plan for all sizes that several plans took the place of."""
    default_ms: float | None
    """Measured: the original with IREE's default flags."""
    measured_ms: float | None
    """Measured: the module that was written."""
    best_flags_ms: float | None = None
    """Measured: the original with those of IREE's own flag sets that are fastest at this size."""


@dataclass(frozen=True, slots=True)
class BlockReport:
    """A block of control flow, or a private function that is called more than once."""

    name: str
    """``main/for.0`` is the body of the first loop in ``main``."""
    function: str
    runs: int
    """How often it runs in one call, as predicted times count it."""
    uncounted: tuple[str, ...] = ()
    """Those of the blocks that it stands in, and itself, that count as run once for want of a
    trip count."""
    ahead: int = 0
    """How many contractions of a loop are computed ahead of it, once for all its steps."""
    steps_a_trip: int = 1
    """Of a loop: how many of its steps one trip runs in the module that was written."""


@dataclass(frozen=True, slots=True)
class OpsReport:
    """Ops that a plan could change, and barriers: ops and functions that no plan reaches."""

    planned: int
    barriers: int


@dataclass(frozen=True, slots=True)
class RefusalReport:
    """What was not done, and why."""

    function: str
    op: str
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class FlagSetReport:
    """The original with one of IREE's own flag sets or in another runtime, or the plan."""

    name: str
    measured_ms: float | None
    """Median of its runs."""
    spread: float
    reason: str
    """Why it was not timed; of another runtime also what its results differ by."""
    fastest_ms: float | None = None
    """Mean of the three fastest runs."""


@dataclass(frozen=True, slots=True)
class IoLayoutReport:
    """The layout of an input or output that the plan was free to choose."""

    function: str
    tensor: str
    direction: str
    """``input`` or ``output``."""
    layout: str


@dataclass(frozen=True, slots=True)
class CarriedReport:
    """A tensor that control flow or state hands on in another layout than row-major."""

    name: str
    """``main/for.0 1`` is what the first loop in ``main`` carries second; ``@cache`` a global."""
    tensor: str
    layout: str


@dataclass(frozen=True, slots=True)
class MoveReport:
    """A dispatch of the compiled module that only moves data: calls and time per call."""

    dispatch: str
    kind: str
    """``pack``, ``unpack``, ``transpose`` or ``memcpy`` (a pad, slice or concat of its own)."""
    count: int
    mean_ns: int
    place: str = ""
    """The tensor or op that it was planned as; empty where the plan has nothing like it."""
    size_bytes: int | None = None
    """Bytes read and written, where the plan says."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ContractionsReport:
    """Contractions and convolutions of the plan, and how many of them run over tiles."""

    total: int
    packed: int
    unpacked: tuple[str, ...]
    """Names of those that do not."""


@dataclass(frozen=True, slots=True)
class CapturedReport:
    """Constants that dispatches capture read-write and the copies of them in one run."""

    readwrite_before: int
    readwrite_after: int
    copies_before: int
    copies_after: int
    copied_bytes_before: int
    copied_bytes_after: int


@dataclass(frozen=True, slots=True)
class WeightsReport:
    """Weights, and their copies in other layouts in the module that is written."""

    size_bytes: int
    """Of the model's own; those that a copy replaces are not held at run time."""
    copies: int
    copied_bytes: int
    budget_bytes: int | None
    """The bound on ``copied_bytes``; None where there is none."""


@dataclass(frozen=True, slots=True)
class Report:
    """What one optimization did."""

    model: str
    profile: str
    cost_source: PriceSource
    winner: str
    """What was written: ``layoutopt``, a flag set of IREE's own on the original, or ``unchanged``
    where the plan leaves every op as it came."""
    before: Side
    after: Side
    solver: SolverReport
    choices: tuple[ChoiceReport, ...]
    conversions: tuple[ConversionReport, ...]
    refusals: tuple[RefusalReport, ...]
    barriers: tuple[RefusalReport, ...]
    flag_sets: tuple[FlagSetReport, ...]
    verification: VerificationReport | None
    compile_flags: tuple[str, ...]
    seconds: dict[str, float]
    measured_on: str | None
    """When the whole modules were run (UTC), None where they were not."""
    moves_inside: tuple[ConversionReport, ...] = ()
    """Transposes and im2col copies in a choice; ``source`` and ``target`` are types."""
    contractions: ContractionsReport | None = None
    validation: Validation | None = None
    """Predicted against measured, None where the plan was not run."""
    objective: Objective = Objective.LATENCY
    """Where it is ``conversions``, the solver's objective counts them and is not a time."""
    io_layouts: tuple[IoLayoutReport, ...] = ()
    """Those chosen where they are free; verified and timed on tensors in these layouts."""
    compiled_moves: tuple[MoveReport, ...] = ()
    """The dispatches of the plan that only move data, as IREE formed them."""
    version: int = VERSION
    captured: CapturedReport | None = None
    """Counted only where some op of the model writes over a constant."""
    weights: WeightsReport | None = None
    memory: MemoryReport | None = None
    """None where nothing was planned."""
    trade_offs: tuple[TradeOffReport, ...] = ()
    """What plans cost that have less memory, or fewer copies of weights, where that was asked."""
    peak_gflops: float = 0.0
    """The target's peak rate of arithmetic in f32; other types have their own."""
    memory_gb_s: float = 0.0
    """The rate of the target's memory; of this machine's, as it was timed."""
    weights_from: str = ""
    """Where candidates with weights found these when they were measured: ``caches``,
    ``last-cache`` or ``memory``; empty where none was measured here."""
    ops: OpsReport = OpsReport(0, 0)
    discrepancies: tuple[str, ...] = ()
    """Where the module that was written and the plan disagree about what moves data."""
    unchecked: tuple[UncheckedReport, ...] = ()
    """Candidates that nothing was there to check against."""
    not_verified: str = ""
    """Why nothing was compared; empty where ``verification`` says what was."""
    not_timed: str = ""
    """Why the module that was written was not timed; empty where it was."""
    dispatches_by: str = ""
    """How the dispatches of both sides were counted, or why they were not."""
    predicted_speedup_range: tuple[float, float] | None = None
    """Of the predicted time before over the one after; None where no price is an estimate."""
    compiler_assumed: str = ""
    """Which version of IREE was taken for the installed one; empty where that one is known."""
    sizes: tuple[SizeReport, ...] = ()
    """Sizes that are known at run time only, and what was planned for in their place."""
    kept_for: str = ""
    """Why the original was written though a plan was made, where no times tell; else empty."""
    original_refused: str = ""
    """Why iree-compile does not take the model as it came, where it takes the plan; else empty."""
    lost_before: str = ""
    """How the plan of earlier prices did, where these were measured again; else empty."""
    blocks: tuple[BlockReport, ...] = ()
    """Blocks of control flow that were planned."""
    carried: tuple[CarriedReport, ...] = ()
    """What control flow hands on in layouts of the plan's choice."""
    kernels: tuple[KernelReport, ...] = ()
    """Of both modules, where they were compiled for a target that is not here."""
    peers: tuple[FlagSetReport, ...] = ()
    """Other runtimes on the same model, timed in the same turns."""
    specializations: tuple[SpecializationReport, ...] = ()
    """The plans of functions that have several, each for a range of sizes."""
    at_sizes: tuple[AtSizesReport, ...] = ()
    """The functions at each size, where several are planned for."""
    decomposed: tuple[str, ...] = ()
    """Kinds of op that IREE does not import: both modules have the ops that they are made of."""
    restated: tuple[str, ...] = ()
    """Tensors of an ONNX model whose stated shapes its ops contradict: both modules have others."""
    written_out: dict[str, int] = field(default_factory=dict)
    """By loop that was written out in the module, for each of its steps reads weights of its own,
    how many steps it had."""

    @property
    def speedup(self) -> float | None:
        """Measured time of IREE's default over that of the module that was written."""
        if not self.before.measured_ms or not self.after.measured_ms:
            return None
        return self.before.measured_ms / self.after.measured_ms

    def to_json(self) -> str:
        """The JSON text, versioned; fields and stages in their own order."""
        return json.dumps(asdict(self), indent=1)

    def write(self, path: Path | str) -> None:
        """Write the JSON, whole or not at all. Raises InputError where it cannot be written."""
        write_text(Path(path), self.to_json() + "\n")


@dataclass(frozen=True, slots=True)
class _Versioned:
    version: int


def read_report(path: Path) -> Report:
    """A report that was written before. Raises InputError for any other file."""
    try:
        text = path.read_bytes()
        version = msgspec.json.decode(text, type=_Versioned).version
        if version == VERSION:
            return msgspec.json.decode(text, type=Report)
    except OSError as error:
        raise InputError(str(path), "a report file", why(error), "check the path") from error
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise InputError(
            str(path), "a report that `--report` wrote", str(error), "make the report again"
        ) from error
    raise InputError(
        str(path), f"a report of version {VERSION}", f"version {version}", "make the report again"
    )
