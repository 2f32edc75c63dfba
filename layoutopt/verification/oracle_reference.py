"""The NumPy oracle in place of an original that IREE does not compile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from layoutopt.frontend.source import Source
from layoutopt.ir.concrete import concrete
from layoutopt.ir.graph import Constant, Graph, Opaque
from layoutopt.ir.size import at, solved, symbols
from layoutopt.ir.types import numpy_dtype
from layoutopt.mlir.constants import write_constants
from layoutopt.mlir.module import parse_module
from layoutopt.mlir.read.entry import Boundary
from layoutopt.mlir.read.lift import Lifted
from layoutopt.oracle import OracleError, evaluate
from layoutopt.profiles.target import load_target
from layoutopt.runtime.compile import compile_file
from layoutopt.runtime.element import Array, Value
from layoutopt.runtime.model import Caller, ModelCall, Results
from layoutopt.runtime.setting import RunSetting
from layoutopt.runtime.transport import demoted
from layoutopt.verification.comparing import Archives, Run

_EDGES = ("hal.tensor.import", "hal.tensor.export", "hal.tensor.barrier")
"""What hands tensors over from and to the caller, as they are."""


@dataclass(frozen=True, slots=True)
class _Function:
    """What is asked of the module while it is there."""

    graph: Graph
    boundary: Boundary
    listed_sizes: Mapping[int, tuple[int, ...]]

    @classmethod
    def of(cls, block: Lifted, boundary: Boundary) -> _Function:
        return cls(block.graph, boundary, block.listed_sizes)


def oracle_run(source: Source, folder: Path, archives: Archives, timeout_s: float) -> Run:
    """Call functions of a model as it came, by NumPy. Constants are read from the module."""
    constants, refused = _constants(source, folder, archives, timeout_s)
    module = parse_module(source.path)
    entries = {exported.name: module.entry(exported.symbol) for exported in module.exported}
    functions = {
        name: (place, _Function.of(module.blocks[place], module.boundary(place)))
        for name, place in entries.items()
        if place is not None and module.blocks[place].is_whole
    }

    def run(function: str, inputs: Sequence[Sequence[Value]]) -> list[Results]:
        if function not in functions:
            return [Results((), "the oracle does not know functions that branch")] * len(inputs)
        place, called = functions[function]
        reason = refused.get(place, "")
        call = partial(_call, called, constants.get(place, {}))
        return [Results((), reason) if reason else call(values) for values in inputs]

    return run


def _call(function: _Function, constants: Mapping[int, Array], inputs: Sequence[Value]) -> Results:
    graph, boundary = function.graph, function.boundary
    unknown = next((op for op in graph.ops if _unknown(op, function.listed_sizes)), None)
    if isinstance(unknown, Opaque):
        return Results((), f"the oracle does not know {unknown.name}")
    sizes = _sizes(graph, boundary, inputs)
    untold = [s.name for kind in graph.types for n in kind.shape for s in symbols(n)]
    untold = [name for name in untold if name not in sizes]
    if untold:
        return Results((), f"the oracle is not told the size {untold[0]}")
    graph = concrete(graph, sizes)
    values = dict(constants)
    for position, tensor in boundary.arguments.items():
        dtype = numpy_dtype(graph.types[tensor].element)
        given = np.asarray(inputs[position])
        values[tensor] = given if dtype is None else given.astype(dtype)
    for tensor, listed in function.listed_sizes.items():
        kind = graph.types[tensor]
        numbers = np.array([at(n, sizes) for n in listed], numpy_dtype(kind.element))
        values[tensor] = numbers.reshape(kind.shape)
    for op in graph.ops:
        if isinstance(op, Constant) and op.result not in values:
            kind = graph.types[op.result]
            values[op.result] = np.zeros(kind.shape, numpy_dtype(kind.element))
    known = tuple(op for op in graph.ops if not isinstance(op, Opaque))
    read = {t for op in known for t in op.inputs}
    if any(t in read and t not in values for t in graph.inputs):
        return Results((), "the oracle does not know all that comes from outside of its graph")
    try:
        found = evaluate(replace(graph, ops=known, names=()), values)
    except OracleError as error:
        return Results((), str(error))
    return Results(tuple(demoted(found[t]) for t in boundary.results.values()))


def _sizes(graph: Graph, boundary: Boundary, inputs: Sequence[Value]) -> dict[str, int]:
    """What the shapes of the inputs say of open sizes, by name of the symbol."""
    values: dict[str, int] = {}
    for position, tensor in boundary.arguments.items():
        given = np.shape(inputs[position])
        for n, size in zip(graph.types[tensor].shape, given, strict=True):
            found = solved(n, size, len)
            if found is not None:
                values[found[0].name] = found[1]
    return values


def _unknown(op: object, listed: Mapping[int, object]) -> bool:
    """Whether it makes what the oracle needs; what only states or checks something does not."""
    if not isinstance(op, Opaque) or op.name in _EDGES:
        return False
    return any(t not in listed for t in op.results)


def _constants(
    source: Source, folder: Path, archives: Archives, timeout_s: float
) -> tuple[dict[int, dict[int, Array]], dict[int, str]]:
    """Values of constants, tensor by tensor for each function, and why those of others lack."""
    path, compiled = folder / "constants.mlirbc", folder / "constants.vmfb"
    names = write_constants(parse_module(source.path), path)
    if not names:
        return {}, {}
    host = load_target("host")
    outcome = compile_file(path, compiled, (*source.phase_flags, *host.flags), timeout_s)
    if not outcome.ok:
        reason = f"the constants of the model do not compile: {outcome.reason}"
        return {}, dict.fromkeys((place for place, _ in names.values()), reason)
    calls = [ModelCall(compiled, name, ()) for name in names]
    values: dict[int, dict[int, Array]] = {}
    refused: dict[int, str] = {}
    with Caller(RunSetting(host.device, 1, timeout_s, archives)) as caller:
        found = caller.run(calls)
    for (place, tensor), results in zip(names.values(), found, strict=True):
        if results.reason:
            refused[place] = f"a constant has no value: {results.reason}"
        else:
            values.setdefault(place, {})[tensor] = results.arrays[0]
    return values, refused
