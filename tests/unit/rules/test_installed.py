"""Rules and ops of installed packages are found by their entry points."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from types import SimpleNamespace

import pytest

from examples.own_rule import DoublingToAddition
from layoutopt.ir import extensions
from layoutopt.ir.extensions.softmax import Softmax
from layoutopt.options import Options
from layoutopt.rules import rewrites


class Own(Softmax):
    mlir_name = "own.softmax"


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    held = {"layoutopt.rules": (DoublingToAddition(),), "layoutopt.ops": Own}

    def entry_points(group: str) -> list[SimpleNamespace]:
        return [SimpleNamespace(load=lambda: held[group])]

    monkeypatch.setattr(rewrites, "entry_points", entry_points)
    monkeypatch.setattr(extensions, "entry_points", entry_points)
    rewrites.every_rule.cache_clear()
    yield
    rewrites.every_rule.cache_clear()


@pytest.mark.usefixtures("installed")
def test_rules_of_a_package_are_among_the_options() -> None:
    assert Options().rules[-1].name == "doubling-to-addition"
    assert Options().rules[:-1] == rewrites.REWRITES


@pytest.mark.usefixtures("installed")
def test_ops_of_a_package_are_known() -> None:
    own = {kind.mlir_name: kind for kind in extensions.EXTENSIONS}
    assert extensions.extensions() == own | {"own.softmax": Own}


def test_without_packages_there_are_our_own() -> None:
    assert not metadata.entry_points(group="layoutopt.rules")
    assert Options().rules == rewrites.REWRITES
