"""Which measurements settle a plan: found, and enough."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from layoutopt.ir.graph import Graph
from layoutopt.ir.types import Array
from layoutopt.options import Options
from layoutopt.planning.sensitivity import OpenQuestion, open_questions
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.prices import Analytic, Price, Work
from layoutopt.profiles.target import load_target
from layoutopt.runtime.progress import Progress
from layoutopt.runtime.steps import SilentSteps
from tests.models import CONVOLUTIONS
from tests.parsing import lifted

ABSENT = load_target("mi355x")
Change = Callable[[Price], Price]


class Changed:
    """Estimates, with some of their prices replaced."""

    source = "analytic"

    def __init__(self, change: Change) -> None:
        self.change = change
        self.plain = Analytic(ABSENT)

    def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
        return [self.change(price) for price in self.plain.price(work, progress)]

    def stored(self, work: Sequence[Work]) -> list[Price | None]:
        return [None] * len(work)

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        return None


def measured(price: Price) -> Price:
    """The price as if somebody had measured just what was estimated."""
    return Price(round(price.nominal_ns), price.reason)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return lifted(CONVOLUTIONS)


def asked(graph: Graph, change: Change) -> tuple[OpenQuestion, ...]:
    return open_questions([graph], ABSENT, Changed(change), Options(), SilentSteps())


def test_estimates_leave_questions_and_measurements_none(graph: Graph) -> None:
    questions = asked(graph, lambda price: price)
    assert len(questions) > 2
    assert {question.chosen for question in questions} == {True, False}
    stakes = [question.at_stake_ns for question in questions]
    assert stakes == sorted(stakes, reverse=True)
    assert all(q.uses >= 1 and q.uncertainty > 0.05 for q in questions)
    assert len({(q.what, q.form, q.estimate_ns) for q in questions}) == len(questions)
    assert asked(graph, measured) == ()


def test_what_is_listed_is_enough(graph: Graph) -> None:
    """With those measured, and every other estimate as uncertain as before, nothing is open."""
    open_ns = {question.estimate_ns for question in asked(graph, lambda price: price)}

    def answered(price: Price) -> Price:
        return measured(price) if round(price.nominal_ns) in open_ns else price

    left = asked(graph, answered)
    assert len(left) < len(open_ns) / 4


def test_surer_estimates_leave_fewer_questions(graph: Graph) -> None:
    def surer(price: Price) -> Price:
        uncertainty = min(price.uncertainty, 0.06)
        cost = round(price.nominal_ns * (1 + uncertainty / 2))
        return Price(cost, price.reason, uncertainty, price.estimated)

    assert len(asked(graph, surer)) < len(asked(graph, lambda price: price))
