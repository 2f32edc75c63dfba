"""Plans for targets that are not here, on the CPU of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from layoutopt.compiler.installed import quirks
from layoutopt.errors import RefusedModuleError
from layoutopt.frontend.source import Source
from layoutopt.options import Options
from layoutopt.profiles.target import load_target
from layoutopt.verification import host_check
from layoutopt.verification.discrepancy import Allowed
from layoutopt.verification.evaluated import Evaluation, Variant
from layoutopt.verification.host_check import PLACE, check_on_host
from layoutopt.verification.modules import Modules
from layoutopt.verification.verified import FunctionVerified, Subject, Verification

SUBJECT = Subject("main", Allowed(1e-3))


@pytest.mark.parametrize("refusals", [0, 1, 3])
def test_a_plan_that_the_cpu_refuses_is_tried_with_narrower_vectors(
    refusals: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[tuple[str, ...]] = []

    def evaluate(variants: Sequence[Variant], *_: object) -> Evaluation:
        tried.append(variants[-1].flags)
        if len(tried) <= refusals:
            raise RefusedModuleError(f"vectors too large, try {len(tried)}", ())
        return Evaluation((), Verification("IREE", ()), "")

    monkeypatch.setattr(host_check, "evaluate_variants", evaluate)
    source = Source(tmp_path / "m.mlir", from_input_phase=False)
    modules = Modules(source.path, source, tmp_path / "o.mlir", (), (SUBJECT,), (), tmp_path)
    found = check_on_host(modules, load_target("mi355x"), Options(cache=tmp_path))
    narrow = quirks().flags.narrow_vectors
    wanted = [False, True, False][: refusals + 1]
    assert [flags[-len(narrow) :] == narrow for flags in tried] == wanted
    if refusals < 3:
        assert found.place == PLACE
    else:
        reason = "IREE for this machine's CPU takes no such plan: vectors too large, try 1"
        assert found.functions[0].unverified == f"the target is not here, and {reason}"


@pytest.mark.parametrize("works", [True, False])
def test_an_original_that_does_not_run_is_tried_without_recorded_commands(
    works: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    anew = quirks().flags.no_memoization

    def evaluate(variants: Sequence[Variant], *_: object) -> Evaluation:
        fails = not works or any(v.flags[-len(anew) :] != anew for v in variants)
        found = FunctionVerified(
            "main", unverified="it fails" if fails else "", original_fails=fails
        )
        return Evaluation((), Verification("IREE", (found,)), "")

    monkeypatch.setattr(host_check, "evaluate_variants", evaluate)
    source = Source(tmp_path / "m.mlir", from_input_phase=False)
    modules = Modules(source.path, source, tmp_path / "o.mlir", (), (SUBJECT,), (), tmp_path)
    found = check_on_host(modules, load_target("mi355x"), Options(cache=tmp_path))
    assert found.original_fails is not works
    assert bool(found.unverified) is not works
