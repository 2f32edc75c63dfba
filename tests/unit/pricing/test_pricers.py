"""Which prices a target takes: those of its device, its threads and the state of its caches."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.options import Options
from layoutopt.pricing.measure.measure import Measurer
from layoutopt.pricing.pricers import at_device, open_pricer
from layoutopt.pricing.prices import Analytic, Measured
from layoutopt.profiles.store import Store
from layoutopt.profiles.target import load_target


@pytest.mark.parametrize("profile", ["host", "mi355x"])
def test_prices_of_cold_caches_are_kept_apart(tmp_path: Path, profile: str) -> None:
    places = []
    with Store(tmp_path / "prices.sqlite") as store:
        for options in (Options(), Options(evict_bytes=64 << 20), Options(threads=2)):
            with open_pricer(store, load_target(profile), options) as pricer:
                source = pricer.measurer if isinstance(pricer, Measured) else pricer
                assert isinstance(source, Measurer | Analytic)
                places.append(source.fingerprint)
    assert len(set(places)) == 3
    assert places[1] == f"{places[0]} evict={64 << 20}"


def test_what_is_measured_here_is_no_price_of_a_target_elsewhere(tmp_path: Path) -> None:
    absent = load_target("x86-64-avx2")
    here = at_device(absent, "local-sync", None, 1)
    with Store(tmp_path / "prices.sqlite") as store:
        with open_pricer(store, here, Options()) as pricer:
            assert isinstance(pricer, Measured)
            assert isinstance(pricer.measurer, Measurer)
            measured = pricer.measurer.fingerprint
        with open_pricer(store, absent, Options()) as pricer:
            assert isinstance(pricer, Analytic)
            assert pricer.fingerprint != measured
        with open_pricer(store, load_target("host"), Options()) as pricer:
            assert isinstance(pricer, Measured)
            assert isinstance(pricer.measurer, Measurer)
            assert pricer.measurer.fingerprint == measured
