"""Plans from files: right wherever they fit, and one line where they do not."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice
from layoutopt.errors import InputError
from layoutopt.ir.graph import Graph
from layoutopt.ir.layout import Layout, row_major
from layoutopt.options import Options
from layoutopt.planning.given_plan import given_plans
from layoutopt.planning.plan_file import FunctionPlan, fingerprint, write_plan
from layoutopt.planning.planner import GraphPlan, plan_graph
from layoutopt.pricing.prices import Analytic
from layoutopt.profiles.target import load_target
from layoutopt.runtime.steps import Clock, SilentSteps
from layoutopt.solver import Search
from tests.models import CONVOLUTIONS
from tests.parsing import lifted

GRAPH = lifted(CONVOLUTIONS)
MODEL = Path("model.mlir")
TARGETS = ("x86-64-avx512", "mi355x", "host")
ADVICE = "make the plan again for this target, with the same options"


def planned(target: str, options: Options) -> GraphPlan:
    found = load_target(target)
    return plan_graph(GRAPH, found, Analytic(found), options, Clock(SilentSteps()))


def saved(path: Path, plan: GraphPlan, choice: Choice | None = None, graph: Graph = GRAPH) -> None:
    chosen = choice or plan.choice
    costs = dict.fromkeys(chosen.candidates, 1)
    changes = dict.fromkeys(chosen.conversions, 1)
    write_plan(
        path,
        [FunctionPlan("main", fingerprint(graph), chosen, costs, changes, plan.solution)],
    )


def replayed(path: Path, target: str, options: Options) -> GraphPlan:
    (found,) = given_plans(path, MODEL, [("main", GRAPH)], load_target(target), options)
    return found


@pytest.mark.parametrize(
    ("target", "search", "free"),
    [
        ("x86-64-avx512", "ilp", False),
        ("mi355x", "greedy", True),
        ("host", "taso", False),
        ("host", "ilp", True),
    ],
)
def test_a_plan_lowers_on_other_targets_as_it_did(
    target: str, search: Search, free: bool, tmp_path: Path
) -> None:
    options = Options(search=search, free_io_layout=free)
    plan = planned(target, options)
    path = tmp_path / "plan.json"
    saved(path, plan)
    for other in TARGETS:
        if plan.hinted and not load_target(other).data_tiling_flag:
            with pytest.raises(InputError, match=f"which {other} has no flag for"):
                replayed(path, other, options)
            continue
        found = replayed(path, other, options)
        assert found.io == plan.io
        assert found.lowered() == plan.lowered()


def test_row_major_plans_serve_where_layouts_are_free(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan = planned("host", Options())
    saved(path, plan)
    found = replayed(path, "host", Options(free_io_layout=True))
    assert found.lowered() == plan.lowered()


@dataclass(frozen=True)
class Broken:
    """A choice that does not fit, and what is said of it."""

    choice: Choice
    got: str


def broken(kind: str, choice: Choice) -> Broken:
    first, *rest = choice.candidates
    tensor, layout = first.layouts[0]

    def with_first(candidate: Candidate) -> Choice:
        return replace(choice, candidates=(candidate, *rest))

    if kind == "cluster":
        return Broken(with_first(replace(first, cluster=99)), "cluster 99 of")
    if kind == "tensors":
        other = replace(first, layouts=((tensor + 1, layout), *first.layouts[1:]))
        return Broken(with_first(other), f"other tensors in cluster {first.cluster}")
    if kind == "rank":
        other = replace(first, layouts=((tensor, row_major(9)), *first.layouts[1:]))
        return Broken(with_first(other), f"other tensors in cluster {first.cluster}")
    if kind == "conversion":
        conversion = (9999, row_major(2), Layout((1, 0)))
        got = "no conversion of tensor 9999: row-major to perm[1,0]"
        return Broken(replace(choice, conversions=(conversion,)), got)
    return Broken(Choice(tuple(rest), choice.conversions), "")


@pytest.mark.parametrize("kind", ["cluster", "tensors", "rank", "conversion", "missing"])
def test_plans_that_do_not_fit_are_refused_in_one_line(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    plan = planned("host", Options())
    case = broken(kind, plan.choice)
    saved(path, plan, case.choice)
    with pytest.raises(InputError) as caught:
        replayed(path, "host", Options())
    head = f"{path}: expected a plan for 'main' that fits host and these options, but got "
    text = str(caught.value)
    assert text.startswith(head + case.got)
    assert text.endswith("; " + ADVICE)


def test_free_layouts_are_asked_for_again(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    options = Options(free_io_layout=True)
    plan = planned("x86-64-avx512", options)
    x = GRAPH.inputs[0]
    assert not plan.io[x].is_row_major
    saved(path, plan)
    assert replayed(path, "x86-64-avx512", options).io == plan.io
    with pytest.raises(InputError) as caught:
        replayed(path, "x86-64-avx512", Options())
    assert str(caught.value).endswith("; " + ADVICE)


def test_a_plan_for_another_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    other = replace(GRAPH, outputs=())
    saved(path, planned("host", Options()), graph=other)
    with pytest.raises(InputError) as caught:
        replayed(path, "host", Options())
    assert str(caught.value) == (
        f"{path}: expected a plan for function 'main' of model.mlir, but got "
        "a plan for another model; make the plan again"
    )
