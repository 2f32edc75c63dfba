"""Every version of IREE has its file, or the nearest one and a word about it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from layoutopt.compiler.installed import KNOWN, assumption, installed_version, nearest, quirks
from layoutopt.compiler.iree_3_13 import IREE_3_13
from layoutopt.report.facts import facts
from tests.reports import REPORT

LATER = replace(IREE_3_13, version=(3, 15))
BOTH = (IREE_3_13, LATER)


def test_the_installed_version_is_known() -> None:
    assert quirks() in KNOWN
    assert assumption(installed_version()) == ""


@pytest.mark.parametrize(
    ("installed", "version", "known"),
    [
        ("3.13.0", (3, 13), True),
        ("3.13.0rc20260101", (3, 13), True),
        ("3.14.2", (3, 13), False),
        ("3.15.0+build", (3, 15), True),
        ("4.0.0", (3, 15), False),
        ("3.2.0", (3, 13), False),
        ("a build of mine", (3, 13), False),
    ],
)
def test_the_nearest_version_stands_in(
    installed: str, version: tuple[int, int], known: bool
) -> None:
    assert nearest(installed, BOTH).version == version
    assert (assumption(installed, BOTH) == "") == known


def test_the_report_says_what_was_assumed() -> None:
    text = assumption("3.14.2")
    assert text == ("IREE 3.14.2 is not known: what was seen of IREE 3.13 is taken to hold for it")
    told = facts(replace(REPORT, compiler_assumed=text))
    assert [fact.text for fact in told if fact.warns and "3.14.2" in fact.text] == [f"{text}."]
    assert not any("is not known" in fact.text for fact in facts(REPORT))


def test_versions_stand_in_their_order_each_in_a_file_of_its_name() -> None:
    versions = [known.version for known in KNOWN]
    assert versions == sorted(set(versions))
    folder = Path("layoutopt/compiler")
    files = {f"iree_{major}_{minor}.py" for major, minor in versions}
    assert {path.name for path in folder.glob("iree_*.py")} == files
