"""Which measurements could change a plan: found, and enough."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest

from layoutopt.ir.graph import Graph
from layoutopt.ir.types import Array
from layoutopt.planning.sensitivity import OpenQuestion, open_questions
from layoutopt.pricing.measure.benchmark import Benchmark
from layoutopt.pricing.prices import Analytic, Price, Work
from layoutopt.pricing.source import PriceSource
from layoutopt.profiles.target import Target, load_target
from layoutopt.runtime.progress import Progress
from tests.models import CONVOLUTIONS
from tests.parsing import lifted
from tests.planning import setting

ABSENT, CPU = load_target("mi355x"), load_target("host")
PACK = re.compile(r"linalg\.(un)?pack")
MATMUL = """
func.func @main(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<64x64xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = linalg.matmul ins(%a, %b : tensor<64x64xf32>, tensor<64x64xf32>)
      outs(%init : tensor<64x64xf32>) -> tensor<64x64xf32>
  return %r : tensor<64x64xf32>
}
"""
Change = Callable[[Price], Price]


class Changed:
    """Estimates, with some of their prices replaced."""

    source = PriceSource.ANALYTIC

    def __init__(self, change: Change, target: Target = ABSENT) -> None:
        self.change = change
        self.plain = Analytic(target)

    def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
        return [self.change(price) for price in self.plain.price(work, progress)]

    def stored(self, work: Sequence[Work]) -> list[Price | None]:
        return [None] * len(work)

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        return None


def measured(price: Price) -> Price:
    """The price as if it were a measurement of just what was estimated."""
    return Price(round(price.nominal_ns), price.reason)


@pytest.fixture(scope="module")
def graph() -> Graph:
    return lifted(CONVOLUTIONS)


def asked(graph: Graph, change: Change) -> tuple[OpenQuestion, ...]:
    return open_questions([graph], setting(ABSENT, Changed(change)))


def test_estimates_leave_questions_and_measurements_none(graph: Graph) -> None:
    questions = asked(graph, lambda price: price)
    assert len(questions) > 2
    assert {question.chosen for question in questions} == {True, False}
    stakes = [question.at_stake_ns for question in questions]
    assert stakes == sorted(stakes, reverse=True)
    assert all(q.uses >= 1 and q.uncertainty > 0.05 for q in questions)
    assert asked(graph, measured) == ()


def test_what_is_listed_is_enough(graph: Graph) -> None:
    """With those measured, and every other estimate as uncertain as before, nothing is open."""
    open_ns = {question.estimate_ns for question in asked(graph, lambda price: price)}

    def answered(price: Price) -> Price:
        return measured(price) if round(price.nominal_ns) in open_ns else price

    assert asked(graph, answered) == ()


def test_a_conversion_is_asked_for_in_the_form_that_it_takes() -> None:
    """As a transpose where packs are dearer, which the plan takes too."""

    class Packed(Changed):
        def price(self, work: Sequence[Work], progress: Progress) -> list[Price]:
            texts = [piece.benchmark.text for piece in work]
            return [Price(made_up_ns(text), "", 0.3, estimated=True) for text in texts]

    def made_up_ns(text: str) -> int:
        if PACK.search(text):
            return 10**9
        return 1000 if "linalg.mmt4d" in text or "linalg.transpose" in text else 6000

    pricer = Packed(lambda price: price, CPU)
    questions = open_questions([lifted(MATMUL)], setting(CPU, pricer))
    conversions = [q for q in questions if q.what.startswith("tensor ") and q.chosen]
    assert conversions
    assert all(q.form.endswith(", as a transpose") for q in conversions)
    assert {q.estimate_ns for q in conversions} == {round(1000 / 1.15)}


def test_surer_estimates_leave_fewer_questions(graph: Graph) -> None:
    def surer(price: Price) -> Price:
        uncertainty = min(price.uncertainty, 0.06)
        cost = round(price.nominal_ns * (1 + uncertainty / 2))
        return Price(cost, price.reason, uncertainty, price.estimated)

    assert len(asked(graph, surer)) < len(asked(graph, lambda price: price))
