"""Code, docs and tests use the field's words: no word that was replaced by one comes back."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

REPLACED = {
    "rivals?": "alternatives (of an e-class)",
    "by[_ -]need": "lazy pricing",
    "blam(e|es|ed|ing)": "attribution: which dispatch caused it",
    "avoided": "known refusals",
    "settle[sd]?": "sensitivity: which measurement could change the plan",
    "unread": "dead results",
    "alike|ancestry|supply|supplies": "structural hash, backward slice, derivability",
    "stuff(ed|ings?)?": "interior padding",
    "zero[_ -]skipping|skip[_ -]zeros|skipzeros": "polyphase",
    "unfold(s|ed|ings?)?": "im2col",
    "promis(e|es|ed|ing)": "padding contract: what padding holds",
    "whoever|whichever|somebody|nobody|someone|anybody|anyone": "the op or process",
    "composites?": "atomic",
    "superseded?s?|normal[_ -]?form": "canonicalized, canonical form",
    "hint(s|ed)?": "data tiling",
    "collapsed|unnamed": "as matmul, generalized",
    "fence[sd]?": "fusion barrier",
    "blind": "not understood",
    "prepared": "hoisted weight",
    "(held|holds?|holding)[_ ]against": "compared with",
    "deliver(s|ed|y)?": "output variants",
    "menus?": "packing options",
    "nearer|telling|worth": "what it bounds, with its unit",
    "no fast one": "is slow",
    "that (is|are) none": "is not one",
    "may not be read": "permission denied",
    "file system that serves": "a readable path",
}
"""What was said, in any case, and what to say."""

OTHERS = (
    (r"^CHANGELOG\.md$", r"`[^`\n]*`"),  # names that were given up
    (r"", r"st\.composite\b"),  # hypothesis
    (r"", r"hal\.fence\b|hal\.device\.promise|\bunfoldable_constant"),  # IREE
    (r"", r"\bcollapsed_slice_dims\b"),  # StableHLO
    (r"^layoutopt/runtime/peers/openvino\.py$", r"_HINT\b"),
    (r"^layoutopt/mlir/read/entry\.py$", r"_FENCE\b"),  # IREE's
    (r"^layoutopt/report/html\.py$", r"colour-blind"),
    (r"^solver/greedy\.py$", r"[Ss]ettle[sd]?\b"),  # nodes, as in Dijkstra's algorithm
    (r"^tests/unit/mlir/read/test_entry\.py$", r"test_fences_are"),  # IREE's
    (r"^tests/e2e/test_readme\.py$", r"\bfenced\b"),  # blocks of Markdown
    (r"^tests/hostile/functions\.py$", r"functions with fences"),  # IREE's
)
"""Where such a word is another project's or field's own: file, text."""

PATTERN = re.compile(rf"(?<![a-z])(?:{'|'.join(REPLACED)})(?![a-z])", re.IGNORECASE)


def texts() -> list[str]:
    """Code, docs and tests that git tracks, but for this file."""
    listed = subprocess.run(
        ["git", "ls-files", "*.py", "*.md", "*.toml", "*.mlir", "*.j2", "*.js", "*.css"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    if listed.returncode:
        pytest.skip("not a checkout of git")
    own = Path(__file__).resolve()
    paths = (ROOT / name for name in listed.stdout.split())
    return [str(p.relative_to(ROOT)) for p in paths if p.is_file() and p != own]


def without_others(text: str, name: str) -> str:
    """A text without the words that are another project's."""
    for file, pattern in OTHERS:
        if re.search(file, name):
            text = re.sub(pattern, "", text)
    return text


def test_no_replaced_word_comes_back() -> None:
    found = []
    for name in texts():
        text = without_others((ROOT / name).read_text(encoding="utf-8"), name)
        for match in PATTERN.finditer(text):
            found.append(f"{name}:{text.count(chr(10), 0, match.start()) + 1}: {match[0]}")
    assert not found, "expected the field's words (see REPLACED), but got\n" + "\n".join(found)


def test_no_file_is_named_by_a_replaced_word() -> None:
    assert [name for name in texts() if PATTERN.search(name)] == []


@pytest.mark.parametrize(
    ("text", "said"),
    [("the rival", True), ("test_rivals_share", True), ("arrivals", False), ("unreadable", False)],
)
def test_words_are_found_in_names_too(text: str, said: bool) -> None:
    assert bool(PATTERN.search(text)) is said
