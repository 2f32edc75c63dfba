from __future__ import annotations

from dataclasses import replace

from layoutopt.pricing.analytic.compiled.read_module import Step
from layoutopt.pricing.analytic.compiled_kernels import Facts
from layoutopt.profiles.target import load_target
from layoutopt.report.facts import facts
from layoutopt.report.kernels import kernel_reports
from layoutopt.verification.written_module import CompiledModules
from tests.reports import REPORT

TARGET = load_target("mi355x")
FILL, COPY = Step("fill", transfer_bytes=1 << 20), Step("copy", transfer_bytes=1 << 30)


def test_equal_steps_are_one_row_and_the_costliest_comes_first() -> None:
    compiled = CompiledModules(Facts("a", (FILL, COPY, FILL)), Facts("b", (FILL,)))
    rows = kernel_reports(compiled, TARGET)
    assert [(r.side, r.name, r.runs) for r in rows] == [
        ("before", "copy", 1), ("before", "fill", 2), ("after", "fill", 1),
    ]  # fmt: skip
    assert all(r.low_ns < r.ns < r.high_ns for r in rows)
    assert kernel_reports(None, TARGET) == ()


def test_a_module_that_does_not_compile_is_told_in_the_count() -> None:
    compiled = CompiledModules(Facts("a", (Step("main_dispatch_0"), FILL)), Facts("b", (), "why"))
    found = compiled.dispatches
    assert (found.before, found.after) == (1, None)
    assert found.how.endswith("iree-compile does not take the module that was written")
    assert not compiled.is_priced


def test_of_an_original_that_does_not_compile_only_the_plan_has_a_price() -> None:
    refused, read = Facts("a", reason="compile-error: no"), Facts("b", (FILL,))
    assert not CompiledModules(refused, read).is_priced
    assert CompiledModules(refused, read).original_refused == "compile-error: no"
    late = Facts("a", reason="compile-timeout: 60 s")
    for pair in ((read, read), (late, read), (refused, Facts("b", (Step("k", reason="why"),)))):
        assert CompiledModules(*pair).original_refused == ""


def test_where_not_even_the_bytes_of_a_kernel_are_known_modules_have_no_price() -> None:
    read, other = Facts("a", (FILL,)), Facts("b", (Step("k", None, 8, "a switch in the kernel"),))
    assert CompiledModules(read, other).is_priced
    assert not CompiledModules(read, Facts("c", (Step("k", reason="why"),))).is_priced
    rows = kernel_reports(CompiledModules(read, other), TARGET)
    told = [fact.text for fact in facts(replace(REPORT, kernels=rows)) if fact.warns]
    assert any(text.endswith(": k: a switch in the kernel") for text in told)
