"""The walk-throughs of CONTRIBUTING.md, walked through in a copy of the tree.

What is added is what is there under another name, so that it does what is asked of it. The generic
tests then run on it, though nothing else of the copy was touched.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("layoutopt", "rules", "solver", "profiles", "tests", "pyproject.toml")
RULES = "tests/property/rules"
EVERY_RULE = f"{RULES}/test_every_rule.py"


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the tree, its links among it."""
    for name in COPIED:
        if (ROOT / name).is_dir():
            ignored = shutil.ignore_patterns("__pycache__", ".hypothesis")
            shutil.copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def run(tree: Path, *command: str) -> str:
    """What a command prints, run in the copy."""
    env = os.environ | {"PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    found = subprocess.run(
        [sys.executable, *command], cwd=tree, env=env, text=True, capture_output=True, check=False
    )
    assert found.returncode == 0, found.stdout + found.stderr
    return found.stdout


def passed(tree: Path, name: str, *files: str) -> int:
    """How many tests of the files hold what was added to its obligations."""
    options = ("-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-k", name)
    printed = run(tree, "-m", "pytest", *options, *files)
    found = re.search(r"(\d+) passed", printed)
    assert found is not None, printed
    return int(found[1])


def camel(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def add_copy(tree: Path, package: str, old: str, new: str) -> None:
    """The two files: that of the new one, and its row behind that of the old one in the table."""
    folder = tree.joinpath(*package.split("."))
    text = (folder / f"{old}.py").read_text(encoding="utf-8")
    for one, other in ((camel(old), camel(new)), (old.replace("_", "-"), new.replace("_", "-"))):
        assert one in text
        text = text.replace(one, other)
    (folder / f"{new}.py").write_text(text, encoding="utf-8")
    table = folder / "__init__.py"
    rows = re.sub(
        rf"( +{camel(old)}\(\),\n)",
        rf"\1    {camel(new)}(),\n",
        table.read_text(encoding="utf-8"),
    )
    imported = f"from {package}.{new} import {camel(new)}\n"
    table.write_text(rows.replace("from layoutopt", f"{imported}from layoutopt", 1), "utf-8")


def test_a_rewrite_rule_is_two_files(tree: Path) -> None:
    add_copy(
        tree, "layoutopt.rules.rewrites", "unit_filter_to_contraction", "unit_window_to_matmul"
    )
    assert passed(tree, "unit-window-to-matmul", EVERY_RULE, f"{RULES}/test_rewrites.py") >= 4
    assert "unit-window-to-matmul" in run(tree, "-m", "layoutopt", "rules")


def test_a_normalization_is_two_files(tree: Path) -> None:
    add_copy(tree, "layoutopt.normalize", "fold_broadcast", "read_through_broadcast")
    files = (EVERY_RULE, f"{RULES}/test_normalizations.py")
    assert passed(tree, "read-through-broadcast", *files) >= 5
    assert "read-through-broadcast" in run(tree, "-m", "layoutopt", "rules")


def test_a_kind_of_op_is_two_files(tree: Path) -> None:
    """Softmax under another name and in another file, in place of its own."""
    folder = tree / "layoutopt" / "ir" / "extensions"
    text = (folder / "softmax.py").read_text(encoding="utf-8")
    (folder / "softmax.py").unlink()
    (folder / "shares.py").write_text(text.replace("Softmax", "Shares"), encoding="utf-8")
    table = folder / "__init__.py"
    rows = table.read_text(encoding="utf-8").replace("Softmax", "Shares")
    table.write_text(rows.replace("softmax", "shares"), encoding="utf-8")
    assert passed(tree, "softmax", "tests/property/test_extensions.py") >= 9


def test_a_peer_is_one_file(tree: Path) -> None:
    (tree / "layoutopt" / "runtime" / "peers" / "stopwatch.py").write_text(
        '''"""Does nothing."""\n\nPACKAGE = "json"\n\n\ndef runner(model, threads, inputs):\n'''
        """    return lambda: []\n""",
        encoding="utf-8",
    )
    assert "stopwatch" in run(tree, "-m", "layoutopt", "bench", "--help")
    timed = "from layoutopt.runtime.peer import PeerCall, PeerRequest; "
    timed += "print(PeerCall(PeerRequest('stopwatch', 'm.onnx', 1, (), '.')).time_ns(1))"
    assert float(run(tree, "-c", timed)) < 1e9
