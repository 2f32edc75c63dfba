"""A model for every test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models import CONVOLUTIONS


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.mlir"
    path.write_text(CONVOLUTIONS)
    return path
