"""A plan for a target that is not here, checked on this machine's CPU.

Compiled for another target, the written module still computes what it computes: its algebra, its
layouts and its constants are compared with the original's, not the code that the target will run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from layoutopt.compiler.installed import quirks
from layoutopt.errors import RefusedModuleError
from layoutopt.ir.graph import Graph, Structured
from layoutopt.ir.size import planned
from layoutopt.options import Options
from layoutopt.profiles.store import cache_folder
from layoutopt.profiles.target import FlagSet, Target, load_target
from layoutopt.runtime.setting import RunSetting
from layoutopt.verification.evaluation import EvaluationSetting, evaluate_variants, variants_of
from layoutopt.verification.modules import Modules
from layoutopt.verification.oracle_reference import oracle_run
from layoutopt.verification.verified import Verification, not_run

PLACE = "on this machine's CPU, not on the target"
_CPU = "IREE for this machine's CPU"
_MOST_POINTS = 2**37
"""Points of all iteration domains: what kernels of one core take some seconds for. Where they are
slow loops, the time limit of a run ends it."""
_MOST_ELEMENTS = 2**27
"""Of all arguments and results: comparing takes some arrays of doubles as large as these."""
_COMPILE_S = 300.0
_RUN_S = 60.0


def check_on_host(modules: Modules, target: Target, options: Options) -> Verification:
    """Compile both modules for this machine's CPU and compare their results there.

    A plan that IREE refuses there is tried with narrower vectors, and where the original does not
    run, both are without recorded commands: what is checked stays the same.
    """
    if _points(modules.graphs) > _MOST_POINTS or _elements(modules.graphs) > _MOST_ELEMENTS:
        return not_run(
            modules.subjects,
            "the target is not here, and the model is too large to run on this machine's CPU",
        )
    host = load_target("host")
    source = modules.source
    tiled = not {*target.data_tiling_flags}.isdisjoint(modules.flags)
    own = quirks().flags
    flags = (*source.phase_flags, *host.flags, *own.no_microkernels, *own.no_schedules)
    flags = (*flags, *(host.data_tiling_flags if tiled else ()))
    default = (FlagSet("default", ()),)
    limit_s = min(_COMPILE_S, options.compile_timeout_s)
    setting = EvaluationSetting(
        RunSetting(host.device, 1, _RUN_S, modules.archives),
        host.place,
        limit_s,
        cache_folder(options.cache) / "models" if options.remember else None,
        timed=False,
    )
    refused, first = "", None
    for place, (base, more) in enumerate(
        (((), ()), ((), own.narrow_vectors), (own.no_memoization, own.no_memoization))
    ):
        variants = variants_of(
            source.path, source.phase_flags, (*host.flags, *base), default, modules.optimized,
            (*flags, *more),
        )  # fmt: skip
        folder = modules.folder / f"host{place}"
        folder.mkdir(exist_ok=True)
        try:
            evaluation = evaluate_variants(
                variants,
                modules.subjects,
                folder,
                setting,
                partial(oracle_run, source, folder, modules.archives, limit_s),
            )
        except RefusedModuleError as error:
            refused = refused or error.got
            continue
        found = replace(evaluation.verification, place=PLACE, more_flags=base)
        if not found.original_fails:
            return found
        first = first or found
    if first is not None:
        return first
    return not_run(
        modules.subjects, f"the target is not here, and {_CPU} takes no such plan: {refused}"
    )


def _points(graphs: Sequence[Graph]) -> int:
    return sum(
        math.prod(map(planned, op.domain))
        for graph in graphs
        for op in graph.ops
        if isinstance(op, Structured)
    )


def _elements(graphs: Sequence[Graph]) -> int:
    kinds = (g.types[t] for g in graphs for t in (*g.inputs, *g.outputs))
    return sum(math.prod(map(planned, kind.shape)) for kind in kinds)
