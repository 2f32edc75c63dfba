"""All that a report is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from layoutopt.candidates.identity import is_unchanged
from layoutopt.ir.graph import Graph
from layoutopt.ir.planned_sizes import divided, open_sizes
from layoutopt.ir.size_range import Ranges, body_name, serves
from layoutopt.ir.weights import ONCE, WeightReuse
from layoutopt.mlir.read.census import ModuleCensus
from layoutopt.options import Options
from layoutopt.planning.chosen_sizes import points_of
from layoutopt.planning.graph_plan import GraphPlan
from layoutopt.profiles.target import Target
from layoutopt.report.headline import UNCHANGED
from layoutopt.report.report import BlockReport, CapturedReport, RefusalReport
from layoutopt.verification.dispatch_count import Dispatches
from layoutopt.verification.evaluated import OPTIMIZED, Evaluation
from layoutopt.verification.verified import Verification
from layoutopt.verification.written_module import CompiledModules


@dataclass(frozen=True)
class OptimizationResult:
    """What came of one optimization."""

    model: str
    target: Target
    names: tuple[str, ...]
    graphs: tuple[Graph, ...]
    """The functions as they came."""
    plans: tuple[GraphPlan, ...]
    verification: Verification
    evaluation: Evaluation | None
    dispatches: Dispatches
    came: ModuleCensus
    """What moves data in the module as it came."""
    written: ModuleCensus
    """The same of the module that is written."""
    copies: tuple[int, ...]
    """Bytes of each weight that the written module holds in another layout."""
    variant: str
    """What is written, as the evaluation names it."""
    compile_flags: tuple[str, ...]
    seconds: dict[str, float]
    barriers: tuple[RefusalReport, ...] = ()
    captured: CapturedReport | None = None
    options: Options = field(default_factory=Options)
    kept_for: str = ""
    """Why the original is kept, where no times tell; else empty."""
    blocks: tuple[BlockReport, ...] = ()
    """The graphs among ``graphs`` that are blocks of control flow."""

    alone: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Names of the dispatches that each chosen piece of work has compiled alone, by its text."""
    compiled: CompiledModules | None = None
    """What both modules run as they are compiled, where prices are those of compiled kernels."""
    lost_before: str = ""
    """How a first plan lost; its prices were then measured again."""
    size_names: Mapping[str, str] = field(default_factory=dict)
    """By dim of an argument (``arg0.1``), what the model calls its size."""
    decomposed: tuple[str, ...] = ()
    """Kinds of op that IREE does not import; they stand as the ops that they are made of."""
    restated: tuple[str, ...] = ()
    """Tensors of an ONNX model whose stated shapes its ops contradict, and that have others."""
    weight_reuse: WeightReuse = ONCE
    """What a run goes through between two uses of a weight."""
    written_out: Mapping[str, int] = field(default_factory=dict)
    """By loop that was written out before it was planned, how many steps it has."""

    @property
    def original_kept(self) -> bool:
        """Whether the original was written and not the plan."""
        return self.variant != OPTIMIZED

    @cached_property
    def winner(self) -> str:
        """What was written, as the report names it."""
        loops = any(block.ahead or block.steps_a_trip > 1 for block in self.blocks)
        unchanged = not (self.options.size_ranges or self.written_out or loops) and all(
            is_unchanged(p.egraph, p.choice, p.identity) for _, p in self.bodies
        )
        return UNCHANGED if unchanged and not self.original_kept else self.variant

    @property
    def bodies(self) -> tuple[tuple[str, GraphPlan], ...]:
        """All plans that are written, with their names: of a function there may be several."""
        return tuple(
            (body_name(name, ranges), body)
            for name, plan in zip(self.names, self.plans, strict=True)
            for ranges, body in _with_ranges(plan)
        )

    @property
    def at_first_sizes(self) -> tuple[GraphPlan, ...]:
        """Of each function, the plan that runs at the first of the sizes that are planned for."""
        found = []
        for graph, plan in zip(self.graphs, self.plans, strict=True):
            sizes = {name: s.planned * n for s in open_sizes(graph) for name, n in (divided(s),)}
            sizes |= dict(points_of(graph, self.options.sizes)[0][1])
            found.append(next(p for ranges, p in _with_ranges(plan) if serves(ranges, sizes)))
        return tuple(found)

    @property
    def within(self) -> dict[str, str]:
        """By name of a block of control flow, or of one of several bodies, its function."""
        bodies = {
            body_name(name, each.ranges): name
            for name, plan in zip(self.names, self.plans, strict=True)
            for each in plan.specializations
        }
        return {block.name: block.function for block in self.blocks} | bodies

    @property
    def runs(self) -> tuple[int, ...]:
        """How often each graph runs in one call of its function."""
        known = {block.name: block.runs for block in self.blocks}
        return tuple(known.get(name, 1) for name in self.names)

    @property
    def is_predicted(self) -> bool:
        """Whether prices say anything of the model: not of one that only barriers make slow."""
        return bool(self.plans) and not (self.winner == UNCHANGED and self.barriers)


def _with_ranges(plan: GraphPlan) -> tuple[tuple[Ranges, GraphPlan], ...]:
    return tuple((s.ranges, s.plan) for s in plan.specializations) or (((), plan),)
