"""Planted bugs are found, and what shows them is small."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from iree.compiler import ir

from layoutopt.ir.graph import Graph, Pad, Slice
from layoutopt.ir.refusal import Assignment, Refusal
from layoutopt.ir.relayout import Physical
from layoutopt.rules.propagation.pad import PadLayouts
from layoutopt.rules.rewrites.strided_unit_filter_to_slice import StridedUnitFilterToSlice
from layoutopt.rules.rewrites.window import Convolution
from layoutopt.rules.rule import Expression
from tests.fuzz.__main__ import main
from tests.fuzz.comparison import Bug
from tests.fuzz.coverage import Coverage
from tests.fuzz.kinds import KINDS
from tests.fuzz.oracle_run import Failure, checked, smallest
from tests.fuzz.program import Program, Written, write
from tests.fuzz.settings import graph
from tests.fuzz.shrink import shrunk

MOST = 300


def found(where: str) -> Failure:
    """The failure of the first graph that shows a bug whose place has ``where`` in its name."""
    context, coverage = ir.Context(), Coverage()
    for number in range(MOST):
        bug = checked(graph(0, number), number, 1, context, coverage)
        if bug is not None and where in bug.where:
            failure = smallest(0, number, 1, limit_s=30)
            assert failure is not None
            return failure
    raise AssertionError(f"{MOST} graphs show no bug of {where}")


def test_a_rewrite_that_loses_a_stride_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = StridedUnitFilterToSlice.rewrite

    def wrong(self: StridedUnitFilterToSlice, graph: Graph, match: Convolution) -> Expression:
        made = right(self, graph, match)
        cut = made.ops[0]
        assert isinstance(cut, Slice)
        dense = replace(cut, strides=(1,) * len(cut.strides))
        return replace(made, ops=(dense, *made.ops[1:]))

    monkeypatch.setattr(StridedUnitFilterToSlice, "rewrite", wrong)
    failure = found("strided-unit-filter-to-slice")
    assert failure.bug.kind == "wrong"
    assert failure.written.program.steps[-1].kind == "convolution"
    assert len(failure.written.program.steps) <= 2


PADDED = (
    *("pad", "convolution", "wide-convolution"),
    *("contraction", "matmul", "wide-matmul", "expanded-contraction", "product-chain"),
)
"""Kinds that pads are written for: a product of an odd number of rows gets one of zeros."""


def test_a_form_that_pads_at_the_wrong_end_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    right = PadLayouts.relayout

    def wrong(self: PadLayouts, op: Pad, layouts: Assignment, physical: Physical) -> Refusal | None:
        return right(self, replace(op, low=op.high, high=op.low), layouts, physical)

    monkeypatch.setattr(PadLayouts, "relayout", wrong)
    failure = found("Pad")
    assert failure.bug.kind == "wrong"
    assert failure.written.program.steps[-1].kind in PADDED
    assert len(failure.written.program.steps) <= 2


def test_shrinking_keeps_what_fails_and_drops_the_rest() -> None:
    whole = next(
        w for w in (graph(0, n) for n in range(500)) if len(w.program.steps) >= 6
        and any(s.kind == "pad" for s in w.program.steps)
    )  # fmt: skip

    def fails(program: Program) -> Written | None:
        written = write(program, "g", KINDS)
        return written if "tensor.pad" in written.text else None

    small = shrunk(whole, fails)
    assert [step.kind for step in small.program.steps] == ["pad"]
    assert not any(small.program.steps[0].choices)


def test_a_failure_is_written_and_told_with_its_command(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bug = Bug("wrong", "conversion", "expected 1 at (0,), but got 2")
    failure = Failure(5, 17, bug, graph(5, 17), "--oracle-only")
    monkeypatch.setattr("tests.fuzz.__main__.smallest", lambda *_: failure)
    assert main(["--oracle-only", "--seed", "5", "--graph", "17", "--folder", str(tmp_path)]) == 1
    path = tmp_path / "5-17--oracle-only.mlir"
    assert path.read_text() == f"// wrong in conversion\n{graph(5, 17).text}"
    assert capsys.readouterr().out == (
        f"FAILED wrong in conversion: expected 1 at (0,), but got 2; {path}; "
        "python -m tests.fuzz --oracle-only --seed 5 --graph 17\n"
    )
