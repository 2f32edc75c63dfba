"""From a folder that `iree-compile` dumped into to the steps of each function."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from layoutopt.files.given import read_input
from layoutopt.pricing.analytic.compiled.assembly import Assembly, parse_assembly
from layoutopt.pricing.analytic.compiled.host_program import (
    NO_SHAPES,
    Command,
    Program,
    Shapes,
    read_program,
)
from layoutopt.pricing.analytic.compiled.kernel_facts import KernelFacts, least_facts, read_facts
from layoutopt.pricing.analytic.compiled.launch import Call
from layoutopt.pricing.analytic.compiled.llvm_ir import (
    Function,
    UnreadableError,
    does_nothing,
    parse_functions,
    shared_sizes,
)
from layoutopt.pricing.analytic.compiled.touched_bytes import Touched, touched_bytes

DOES_NOTHING = "its code was left out by iree-compile, so that it does nothing"
"""The reason of a kernel that cannot be right."""
TRANSFERS = ("fill", "copy")
"""Names of steps that run no kernel."""


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that the device does: a kernel, or a transfer of bytes."""

    name: str
    """Of the dispatch; ``fill`` or ``copy`` for a transfer."""
    kernel: KernelFacts | None = None
    transfer_bytes: int = 0
    reason: str = ""
    """Why a kernel was not understood: it takes at least as long as its bytes, which are then in
    `transfer_bytes`, and as its facts, which are then of one round of each loop."""


@dataclass(frozen=True, slots=True)
class _Code:
    assembly: Assembly
    function: Function
    shared: dict[str, int]
    text: str
    """All that its facts follow from, its name left out."""


class KernelReader:
    """Reads modules; kernels of the same code are looked at once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[KernelFacts, str]] = {}

    def steps(
        self, host: Path, folder: Path, shapes: Shapes = NO_SHAPES
    ) -> dict[str, tuple[Step, ...]]:
        """What each function does, from a module of the HAL phase and the dumps beside it.

        ``shapes``: of the arguments that functions are called with, where sizes are open.
        """
        return self._steps(_program(host, shapes), folder)

    def _steps(self, program: Program, folder: Path) -> dict[str, tuple[Step, ...]]:
        code, touched = dict(_code(folder)), touched_bytes(folder)
        return {
            name: tuple(self._step(command, code, touched) for command in commands)
            for name, commands in program.functions.items()
        }

    def one_call(
        self, host: Path, folder: Path, shapes: Shapes = NO_SHAPES
    ) -> tuple[tuple[Step, ...], int | None]:
        """What all functions do that no other one calls, and the bytes that the largest holds.

        None where those are known at run time only. ``shapes``: as in `steps`.
        """
        program = _program(host, shapes)
        found = self._steps(program, folder)
        held = [program.held_bytes[name] for name in program.roots]
        known = [size for size in held if size is not None]
        most = max(known, default=None) if len(known) == len(held) else None
        return tuple(step for name in program.roots for step in found[name]), most

    def _step(self, command: Command, code: dict[str, _Code], touched: dict[str, Touched]) -> Step:
        bound = sum(size or 0 for size in command.binding_bytes)
        if not command.kernel:
            name = "copy" if command.reads else "fill"
            return Step(name, transfer_bytes=bound * (2 if command.reads else 1))
        accessed = touched.get(command.kernel)
        bound = (accessed.size_bytes(command.constants) if accessed else None) or bound
        found = code.get(command.kernel)
        if found is None:
            return Step(command.kernel, None, bound, "no assembly of it was found")
        if does_nothing(found.function):
            return Step(command.kernel, None, bound, DOES_NOTHING)
        if None in (*command.grid, *command.binding_bytes):
            reason = "its number of workgroups or its sizes are known at run time only"
            return Step(command.kernel, reason=reason)
        call = Call(tuple(count or 0 for count in command.grid), command.constants)
        if 0 in call.grid:
            return Step(command.kernel)
        key = hashlib.sha256(f"{found.text}\n{call}\n{bound}".encode()).hexdigest()
        if key not in self._known:
            self._known[key] = _facts(found, call, bound)
        facts, reason = self._known[key]
        return Step(command.kernel, facts, bound if reason else 0, reason)


def _program(host: Path, shapes: Shapes) -> Program:
    with host.open(encoding="utf-8", errors="replace") as lines:
        return read_program(lines, shapes)


def _facts(code: _Code, call: Call, touched: int) -> tuple[KernelFacts, str]:
    """Facts, and why they are only what is sure; the reason is empty where all was understood."""
    try:
        return read_facts(code.assembly, code.function, code.shared, call, touched), ""
    except UnreadableError as error:
        return least_facts(code.assembly, call, touched), str(error)


def _code(folder: Path) -> Iterator[tuple[str, _Code]]:
    for path in sorted(folder.glob("*.rocmasm")):
        ir = path.with_name(path.name.removesuffix(".rocmasm") + ".optimized.ll")
        if not ir.is_file():
            continue
        assembly, text = (
            read_input(path).decode(errors="replace"),
            read_input(ir).decode(errors="replace"),
        )
        functions, shared = parse_functions(text), shared_sizes(text)
        for name, parsed in parse_assembly(assembly).items():
            if name in functions:
                own = shared_names(functions[name], shared)
                said = f"{parsed}{functions[name]}{own}".replace(name, "")
                yield name, _Code(parsed, functions[name], own, said)


def shared_names(function: Function, shared: dict[str, int]) -> dict[str, int]:
    """The globals in shared memory that one function uses; others of its module are not its own."""
    text = " ".join(_texts(function))
    return {name: size for name, size in shared.items() if f"{name} " in text or f"{name}," in text
            or f"{name})" in text}  # fmt: skip


def _texts(function: Function) -> Iterable[str]:
    for block in function.blocks.values():
        for instruction in block.instructions:
            yield f"{instruction.rest} "
