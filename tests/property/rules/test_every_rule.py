"""Every rule in a table, rewrite or normalization, checked for what house rules ask of both."""

from __future__ import annotations

from typing import Any

import pytest

from layoutopt.normalize import NORMALIZATIONS
from layoutopt.rules.rewrites import REWRITES
from layoutopt.rules.rule import Rule, Unproven
from tests.property.rules.naming import name_of

RULES: tuple[Rule[Any], ...] = (*REWRITES, *NORMALIZATIONS)


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_a_rule_names_itself_once(rule: Rule[Any]) -> None:
    module = type(rule).__module__.rsplit(".", 1)[1]
    assert rule.name == module.replace("_", "-")
    assert type(rule).__name__ == "".join(word.capitalize() for word in module.split("_"))
    assert "->" in rule.summary
    assert isinstance(rule.argument, Unproven) or rule.argument


def test_names_are_unique() -> None:
    names = [rule.name for rule in RULES]
    assert len({*names}) == len(names)


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_a_rule_shows_where_it_fires_and_where_it_refuses(rule: Rule[Any]) -> None:
    assert {example.refusal is None for example in rule.examples} == {True, False}
