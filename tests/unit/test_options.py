"""Options take enums, or their names."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from layoutopt.errors import InputError
from layoutopt.options import Objective, Options, rules_without
from layoutopt.pricing.source import PriceSource
from layoutopt.report.report import Report
from layoutopt.solver import Search
from tests.reports import REPORT


def test_names_become_choices() -> None:
    names: dict[str, Any] = {"objective": "conversions", "search": "taso"}
    options = Options(**names)
    assert options == Options(objective=Objective.CONVERSIONS, search=Search.TASO)
    assert (type(options.objective), type(options.search)) == (Objective, Search)


def test_a_function_has_one_body_at_least() -> None:
    with pytest.raises(InputError) as error:
        Options(specializations=0)
    assert str(error.value) == (
        "Options.specializations: expected 1 or more, but got 0; correct the option"
    )


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (
            "objective",
            "Options.objective: expected one of latency, conversions, but got 'speed'; "
            "correct the option",
        ),
        (
            "search",
            "Options.search: expected one of ilp, greedy, taso, pbqp, but got 'speed'; "
            "correct the option",
        ),
    ],
)
def test_a_name_of_nothing_is_refused(option: str, message: str) -> None:
    names: dict[str, Any] = {option: "speed"}
    with pytest.raises(InputError) as raised:
        Options(**names)
    assert str(raised.value) == message


def test_a_report_holds_their_names() -> None:
    table = json.loads(REPORT.to_json())
    found = (table["objective"], table["cost_source"], table["solver"]["status"])
    assert found == ("latency", "measured", "OPTIMAL")
    again = msgspec.json.decode(REPORT.to_json(), type=Report)
    assert again.objective is Objective.LATENCY
    assert again.cost_source is PriceSource.MEASURED


def test_a_rule_is_left_out_by_its_name() -> None:
    names = [rule.name for rule in Options().rules]
    left = [rule.name for rule in rules_without(["merge-siblings", "unroll-window"])]
    assert [*left] == [name for name in names if name not in ("merge-siblings", "unroll-window")]
    assert len(left) == len(names) - 2
    with pytest.raises(InputError) as error:
        rules_without(["merge-sibling"])
    assert str(error.value) == (
        "--without-rule: expected the name of a rewrite, as `layoutopt rules` lists them, but got "
        "'merge-sibling'; correct the option"
    )
