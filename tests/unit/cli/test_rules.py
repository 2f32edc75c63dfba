"""``layoutopt rules MODEL``: at how many ops of a model each rule fires."""

from __future__ import annotations

from pathlib import Path

import pytest

from layoutopt.cli.main import main
from tests.planning import TWO_MATMULS


def test_rules_are_counted_on_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two matmuls behind one another have another order; no rule of convolutions matches."""
    (tmp_path / "model.mlir").write_text(TWO_MATMULS)
    main(["rules", str(tmp_path / "model.mlir")])
    said = capsys.readouterr().out
    rows = [line.split() for line in said.splitlines()]
    assert ["reassociate-contractions", "1", "/", "0"] in rows
    assert "Rules that match nothing there:" in said
    assert not any(row[:1] == ["convolution-to-im2col"] for row in rows)


def test_what_is_no_model_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["rules", str(tmp_path / "none.mlir")])
    assert capsys.readouterr().err.count("\n") == 1
