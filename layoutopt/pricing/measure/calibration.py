"""What a call costs without a dispatch: two tiny functions, in a module that is compiled once."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from layoutopt.files.closing import Closing
from layoutopt.pricing.measure.batch_compile import Compile
from layoutopt.runtime.compile import CompileOutcome
from layoutopt.runtime.job import ONE_DISPATCH, TWO_DISPATCHES
from layoutopt.runtime.workspace import workspace

TEXT = f"""\
func.func @{ONE_DISPATCH}(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = arith.addf %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}}
func.func @{TWO_DISPATCHES}(%x: tensor<4xf32>) -> tensor<4xf32> {{
  %0 = flow.dispatch.region -> (tensor<4xf32>) {{
    %1 = arith.addf %x, %x : tensor<4xf32>
    flow.return %1 : tensor<4xf32>
  }}
  %2 = arith.mulf %0, %x : tensor<4xf32>
  return %2 : tensor<4xf32>
}}
"""


class Calibration(Closing):
    """Compiles the module for each set of flags when it is first asked for; `close` removes it."""

    def __init__(self, compile_one: Compile, timeout_s: float) -> None:
        self._compile_one = compile_one
        self._timeout_s = timeout_s
        self._files = ExitStack()
        self._known: dict[tuple[str, ...], tuple[Path, CompileOutcome]] = {}

    def module(self, flags: tuple[str, ...]) -> tuple[Path, CompileOutcome]:
        """The module, and how compiling it ended: it is there where that is ok."""
        if flags not in self._known:
            folder = self._files.enter_context(workspace())
            source, output = folder / "calibration.mlir", folder / "calibration.vmfb"
            source.write_text(TEXT)
            outcome = self._compile_one(source, output, flags, self._timeout_s)
            self._known[flags] = output, replace(outcome, errors={}, executables={})
        return self._known[flags]

    def close(self) -> None:
        """Remove its files."""
        self._known.clear()
        self._files.close()
