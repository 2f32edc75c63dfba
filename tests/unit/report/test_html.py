"""The HTML report: complete, escaped, and alone in its file."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from layoutopt.options import Objective
from layoutopt.pricing.source import PriceSource
from layoutopt.report.checks import VerificationReport
from layoutopt.report.html import html_page
from layoutopt.report.report import (
    AtSizesReport,
    CapturedReport,
    ChoiceReport,
    ConversionReport,
    RefusalReport,
    Report,
)
from layoutopt.report.validation import DispatchValidation, Validation
from tests.reports import REPORT

VOID = {"meta", "br", "input"}


class Reader(HTMLParser):
    """Checks the nesting of a page, and keeps what it refers to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.references: list[str] = []
        self.ids: list[str] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.handle_startendtag(tag, attrs)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("href", "src", "action", "data", "srcset"):
                self.references.append(value or "")
            if name == "id":
                self.ids.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def with_validation(report: Report) -> Report:
    rows = (
        DispatchValidation("convolution.3", "main_dispatch_1", 5000, 6000),
        DispatchValidation("pad.2", "", 900, None),
        DispatchValidation("", "main_dispatch_9", None, 300),
    )
    return replace(report, validation=Validation(rows, 0.019, 0.02, 0.021, 0.17, 1, 0))


def test_the_page_refers_to_nothing_outside_itself() -> None:
    page = html_page(with_validation(REPORT))
    found = Reader(page)
    assert found.references
    assert all(r.startswith("#") and r[1:] in found.ids for r in found.references)
    assert not re.search(r"https?:|url\(|@import|fetch\(", page)


def test_the_page_tells_what_the_report_holds() -> None:
    page = html_page(with_validation(REPORT))
    for text in (
        "5.00x",
        "OPTIMAL",
        "convolution-to-im2col",
        "runner-up: as it came, 2.0 us more",
        "from pad.2 in row-major to convolution.3 in perm[0,2,3,1]",
        "expected filter = stride",
        "expected an op of linalg",
        "stack limit exceeded",
        "Median error of a dispatch: 17 %",
        "(not planned)",
    ):
        assert text in page
    assert page.count("<circle") == 1, "one dispatch has both times"


def test_the_page_warns_of_what_was_not_run_and_counts_captured_constants() -> None:
    verification = VerificationReport(
        1e-5, 1e-6, 1e-3, True, "the oracle", ("main",), (("decode<f32>", "it takes a list"),)
    )
    captured = CapturedReport(2, 1, 2, 1, 100 << 20, 50 << 20)
    page = html_page(replace(REPORT, verification=verification, captured=captured))
    assert '<p class="warn">Not run, so not verified: decode&lt;f32&gt;;' in page
    assert "<p>Constants captured read-write: 2 before, 1 after;" in page


def test_what_models_are_named_is_escaped() -> None:
    rows = (RefusalReport("main", "<script>alert(1)</script>", "rule", "a < b & c"),)
    page = html_page(replace(REPORT, model="<b>m</b>", refusals=rows))
    assert "<script>alert" not in page
    assert "<b>m</b>" not in page
    assert "a &lt; b &amp; c" in page
    Reader(page)


@pytest.mark.parametrize(
    "report",
    [
        replace(REPORT, choices=(), conversions=(), refusals=(), barriers=(), flag_sets=()),
        replace(REPORT, verification=None, cost_source=PriceSource.ANALYTIC, measured_on=None),
        replace(REPORT, winner="data-tiling", objective=Objective.CONVERSIONS),
    ],
    ids=["nothing planned", "estimated", "original wins"],
)
def test_reports_with_parts_missing_have_a_page(report: Report) -> None:
    Reader(html_page(report))


def test_a_layout_of_its_own_for_each_of_many_clusters_still_has_a_page() -> None:
    choice = ChoiceReport("main", "op", "as it came", {}, 1, None, None)
    choices = tuple(
        replace(choice, layouts={f"t{i}": f"perm[{i}]"}, makes=(f"t{i}",)) for i in range(20)
    )
    Reader(html_page(replace(REPORT, choices=choices, conversions=())))


def test_a_conversion_is_drawn_where_it_happens() -> None:
    page = html_page(REPORT)
    assert page.count('class="edge converts"') == 1
    plain = replace(REPORT, conversions=tuple[ConversionReport, ...]())
    assert 'class="edge converts"' not in html_page(plain)


def test_each_size_that_is_planned_for_is_shown() -> None:
    row = AtSizesReport("main", {"s": 1, "b": 4}, 3.0, "s <= 17", 0.25, 0.5, 1.5, None)
    page = html_page(replace(REPORT, at_sizes=(row,)))
    Reader(page)
    assert "<td>s = 1, b = 4</td><td>s &lt;= 17</td>" in page
    assert "At each size" not in html_page(REPORT)
