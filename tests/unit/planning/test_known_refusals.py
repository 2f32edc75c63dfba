"""What was learned of one search says nothing of another one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layoutopt.options import Objective, Options
from layoutopt.pipeline.attempts import known_refusals
from layoutopt.planning.known_refusals import KnownRefusals
from layoutopt.profiles.target import Target, load_target
from tests.models import CONVOLUTIONS
from tests.parsing import lifted

HOST = load_target("host")


def refused(target: Target, options: Options) -> KnownRefusals:
    return known_refusals([lifted(CONVOLUTIONS)], target, options)


@pytest.mark.parametrize(
    ("target", "options"),
    [
        (HOST, Options(objective=Objective.CONVERSIONS)),
        (HOST, Options(exact=True)),
        (replace(HOST, fingerprint="host:another"), Options()),
        (replace(HOST, place="host:another"), Options()),
        (replace(HOST, device="local-task"), Options()),
    ],
)
def test_candidates_are_known_by_number_within_one_search(
    tmp_path: Path, target: Target, options: Options
) -> None:
    first = refused(HOST, Options(cache=tmp_path))
    first.digests = [frozenset({"a"})]
    first.remember()
    assert refused(HOST, Options(cache=tmp_path)).digests == [frozenset({"a"})]
    other = refused(target, replace(options, cache=tmp_path))
    assert other.digests == [frozenset()]
