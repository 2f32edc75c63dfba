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
from layoutopt.verification.verified import Subject, Verification

SUBJECT = Subject("main", Allowed(1e-3))


@pytest.mark.parametrize("refusals", [0, 1, 2])
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
    assert [flags[-len(narrow) :] == narrow for flags in tried] == [False, True][: refusals + 1]
    if refusals < 2:
        assert found.place == PLACE
    else:
        reason = "IREE for this machine's CPU takes no such plan: vectors too large, try 1"
        assert found.functions[0].unverified == f"the target is not here, and {reason}"
