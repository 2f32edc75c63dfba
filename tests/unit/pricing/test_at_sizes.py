"""One price of what is priced at several sizes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from layoutopt.candidates.candidate import PhysicalForm
from layoutopt.ir.graph import Graph
from layoutopt.ir.types import Array
from layoutopt.pricing.at_sizes import AtSizes
from layoutopt.pricing.measure.benchmark import Benchmark, Case
from layoutopt.pricing.prices import Price, Work, with_others
from layoutopt.pricing.source import PriceSource
from layoutopt.runtime.progress import Progress, Silent


class Table:
    """Prices by the sizes of a benchmark."""

    source = PriceSource.MEASURED

    def __init__(self, prices: dict[tuple[tuple[int, ...], ...], Price]) -> None:
        self.prices = prices

    def price(self, work: list[Work], progress: Progress) -> list[Price]:
        return [self.prices[w.benchmark.sizes] for w in work]

    def stored(self, work: list[Work]) -> list[Price | None]:
        return [self.prices.get(w.benchmark.sizes) for w in work]

    def outputs(self, benchmark: Benchmark) -> tuple[Array, ...] | None:
        return None


def piece(size: int) -> Work:
    form = PhysicalForm(Graph((), (), (), ()), (), (), ())
    benchmark = Benchmark((), (), "", (), (), lambda: Case((), (), ()), sizes=((size,),))
    return Work(form, benchmark, 0)


def joined() -> Work:
    ((_, work),) = with_others([("c", piece(1))], 3.0, [("c", piece(128))], 1.0)
    return work


def test_the_price_is_the_weighted_mean() -> None:
    table = Table({((1,),): Price(100), ((128,),): Price(900, uncertainty=0.1)})
    (price,) = AtSizes(table).price([joined()], Silent())  # type: ignore[arg-type]
    assert price.cost_ns == (3 * 100 + 900) / 4
    assert price.uncertainty == pytest.approx(0.1 * 900 / 1200)


def test_what_is_refused_at_one_size_is_refused() -> None:
    table = Table({((1,),): Price(100), ((128,),): Price(None, "compile-error: no")})
    (price,) = AtSizes(table).price([joined()], Silent())  # type: ignore[arg-type]
    assert price.cost_ns is None
    assert price.reason == "compile-error: no"


def test_what_is_not_stored_for_all_sizes_is_not_stored() -> None:
    table = Table({((1,),): Price(100)})
    assert AtSizes(table).stored([joined(), piece(1)]) == [None, Price(100)]  # type: ignore[arg-type]


def test_what_has_no_form_at_another_size_is_left_out() -> None:
    assert with_others([("c", piece(1))], 1.0, [], 1.0) == []
    lowered = replace(piece(128), lowered=True)
    assert with_others([("c", piece(1))], 1.0, [("c", lowered)], 1.0) == []
