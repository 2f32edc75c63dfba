"""The kernels that show what IREE is slow at: each can be read, and is in the table."""

from __future__ import annotations

from pathlib import Path

import iree.compiler.ir as ir
import pytest

from tests.parsing import CONTEXT

FOLDER = Path(__file__).parents[3] / "examples/iree_limits"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
MODULES = sorted(FOLDER.glob("*.mlir"))


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_a_module_is_valid_and_listed(path: Path) -> None:
    with CONTEXT:
        assert ir.Module.parse(path.read_text(encoding="utf-8")).operation.verify()
    assert README.count(f"| [{path.name}]({path.name}) |") == 1


def test_nothing_else_is_listed() -> None:
    assert README.count("| [") == len(MODULES)
