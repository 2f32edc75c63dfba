"""`layoutopt explain` says what a plan chose."""

from pathlib import Path

import pytest

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.choice import Choice
from layoutopt.cli.main import main
from layoutopt.ir.layout import Layout
from layoutopt.planning.plan_file import FunctionPlan, read_plan, write_plan
from layoutopt.solver import Solution, Status

ROWS, COLUMNS = Layout((0, 1)), Layout((1, 0))
CHOSEN = Candidate(0, ((1, ROWS), (2, COLUMNS)), False, False, True, False)
CONVERSION = (2, COLUMNS, ROWS)


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    solution = Solution(Status.OPTIMAL, (), (), 1500, 1500, 0.0, 0.1, "proved")
    choice = Choice((CHOSEN,), (CONVERSION,))
    told = {CHOSEN: ("contraction.3", "as it came + packed")}
    plan = FunctionPlan("main", "0", choice, {CHOSEN: 1200}, {CONVERSION: 300}, solution, told)
    write_plan(path, [plan])
    return path


def test_all_of_a_plan(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", str(plan)])
    assert capsys.readouterr().out.splitlines() == [
        "contraction.3: as it came + packed, 1.2 us; t1 row-major, t2 perm[1,0]",
        "t2: from perm[1,0] to row-major, 0.3 us",
    ]


def test_one_tensor_or_op_of_a_plan(plan: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", str(plan), "t1"])
    assert len(capsys.readouterr().out.splitlines()) == 1
    main(["explain", str(plan), "t2"])
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_names_come_back_from_the_file(plan: Path) -> None:
    assert read_plan(plan)[0].described == {CHOSEN: ("contraction.3", "as it came + packed")}


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
