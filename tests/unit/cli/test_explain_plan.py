"""`layoutopt explain` says what a plan chose."""

from pathlib import Path

import pytest

from layoutopt.candidates.form import Form
from layoutopt.cli.main import main
from layoutopt.ir.layout import Layout
from layoutopt.options import Objective
from layoutopt.planning.plan_file import (
    FunctionPlan,
    PlacedTensor,
    PlanFile,
    PlannedCandidate,
    PlannedConversion,
    read_plan,
    write_plan,
)
from layoutopt.solver import Solution, Status, StopReason

ROWS, COLUMNS = Layout((0, 1)), Layout((1, 0))
TENSORS = (PlacedTensor("a1", "t1", ROWS), PlacedTensor("a2", "t2", COLUMNS))
CHOSEN = PlannedCandidate("c0", "contraction.3", "packed", Form.PACKED, TENSORS, 1200)
CONVERSION = PlannedConversion("a2", "t2", COLUMNS, ROWS, 300, False)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    solution = Solution(Status.OPTIMAL, (), (), 1500, 1500, 0.0, 0.1, StopReason.PROVED)
    plan = FunctionPlan("main", "0", (CHOSEN,), (CONVERSION,), solution)
    write_plan(path, PlanFile("host", Objective.LATENCY, (plan,)))
    return path


def test_all_of_a_plan(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", str(plan)])
    assert capsys.readouterr().out.splitlines() == [
        "contraction.3: packed, 1.2 us; t1 row-major, t2 perm[1,0]",
        "t2: from perm[1,0] to row-major, 0.3 us",
    ]


def test_one_tensor_or_op_of_a_plan(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", str(plan), "t1"])
    assert len(capsys.readouterr().out.splitlines()) == 1
    main(["explain", str(plan), "t2"])
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_a_plan_comes_back_from_the_file(plan: Path) -> None:
    (found,) = read_plan(plan).functions
    assert found.candidates == (CHOSEN,)
    assert found.conversions == (CONVERSION,)


@pytest.mark.parametrize(
    ("more", "text"),
    [
        (
            ["t9"],
            "expected an op or tensor of the report, but got 't9'; choose one such as "
            "contraction.3",
        ),
        (
            ["--html", "page.html"],
            "expected a report, but got a plan; give the report for --html",
        ),
    ],
)
def test_what_a_plan_does_not_have(
    plan: Path, capsys: pytest.CaptureFixture[str], more: list[str], text: str
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["explain", str(plan), *more])
    assert stop.value.code == 2
    assert capsys.readouterr().err.strip() == f"{plan}: {text}"
