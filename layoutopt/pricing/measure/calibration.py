"""What a call costs without a dispatch: tiny functions, in a module that is compiled once."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from layoutopt.files.closing import Closing
from layoutopt.pricing.measure.batch_compile import Compile
from layoutopt.runtime.compile import CompileOutcome
from layoutopt.runtime.job import EVICT, ONE_DISPATCH, SEVERAL, SEVERAL_DISPATCHES, TWO_DISPATCHES
from layoutopt.runtime.sampling import Protocol
from layoutopt.runtime.workspace import workspace


def text(protocol: Protocol) -> str:
    """The module for what is timed that way."""
    wanted = {ONE_DISPATCH: 1, TWO_DISPATCHES: 2, SEVERAL_DISPATCHES: SEVERAL}
    chains = "".join(_chain(name, count) for name, count in wanted.items())
    return chains + _fill(protocol.evict_bytes) if protocol.reads_copies else chains


def _fill(size: int) -> str:
    """A function that writes so much memory of the device."""
    return (
        f"func.func @{EVICT}(%x: i8) -> tensor<{size}xi8> {{\n"
        f"  %filled = flow.tensor.splat %x : tensor<{size}xi8>\n"
        f"  return %filled : tensor<{size}xi8>\n"
        "}\n"
    )


def _chain(name: str, dispatches: int) -> str:
    """A function of tiny dispatches, each of which waits for the one before it."""
    lines = [f"func.func @{name}(%x: tensor<4xf32>) -> tensor<4xf32> {{"]
    made = "%x"
    for place in range(dispatches - 1):
        lines += [
            f"  %{place} = flow.dispatch.region -> (tensor<4xf32>) {{",
            f"    %in{place} = arith.addf {made}, %x : tensor<4xf32>",
            f"    flow.return %in{place} : tensor<4xf32>",
            "  }",
        ]
        made = f"%{place}"
    lines += [f"  %made = arith.mulf {made}, %x : tensor<4xf32>", "  return %made : tensor<4xf32>"]
    return "\n".join([*lines, "}", ""])


_compiled: dict[tuple[Compile, str, tuple[str, ...]], tuple[bytes, CompileOutcome]] = {}
"""By compiler, text and flags, of this process: some kilobytes each, for a second of compiling."""


class Calibration(Closing):
    """Compiles the module for each set of flags when it is first asked for; `close` removes it."""

    def __init__(self, compile_one: Compile, timeout_s: float, protocol: Protocol) -> None:
        self._compile_one = compile_one
        self._text = text(protocol)
        self._timeout_s = timeout_s
        self._files = ExitStack()
        self._known: dict[tuple[str, ...], tuple[Path, CompileOutcome]] = {}

    def module(self, flags: tuple[str, ...]) -> tuple[Path, CompileOutcome]:
        """The module, and how compiling it ended: it is there where that is ok."""
        if flags not in self._known:
            folder = self._files.enter_context(workspace())
            source, output = folder / "calibration.mlir", folder / "calibration.vmfb"
            key = self._compile_one, self._text, flags
            if key in _compiled:
                binary, outcome = _compiled[key]
                output.write_bytes(binary)
            else:
                source.write_text(self._text)
                found = self._compile_one(source, output, flags, self._timeout_s)
                outcome = replace(found, errors={}, executables={})
                if outcome.ok:
                    _compiled[key] = output.read_bytes(), outcome
            self._known[flags] = output, outcome
        return self._known[flags]

    def close(self) -> None:
        """Remove its files."""
        self._known.clear()
        self._files.close()
