"""The NumPy oracle in place of an original that IREE does not compile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from layoutopt.frontend.source import Source
from layoutopt.ir.graph import Constant, Graph, Opaque
from layoutopt.ir.types import numpy_dtype
from layoutopt.mlir.constants import write_constants
from layoutopt.mlir.module import exported_name, parse_module
from layoutopt.mlir.read.entry import Boundary
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


def oracle_run(source: Source, folder: Path, archives: Archives, timeout_s: float) -> Run:
    """Call functions of a model as it came, by NumPy. Constants are read from the module."""
    constants, refused = _constants(source, folder, archives, timeout_s)
    module = parse_module(source.path)
    functions = {
        exported_name(block.name): (place, block.graph, module.boundary(place))
        for place, block in enumerate(module.blocks)
        if block.is_whole
    }

    def run(function: str, inputs: Sequence[Sequence[Value]]) -> list[Results]:
        if function not in functions:
            return [Results((), "the oracle does not know functions that branch")] * len(inputs)
        place, graph, boundary = functions[function]
        reason = refused.get(place, "")
        call = partial(_call, graph, boundary, constants.get(place, {}))
        return [Results((), reason) if reason else call(values) for values in inputs]

    return run


def _call(
    graph: Graph, boundary: Boundary, constants: Mapping[int, Array], inputs: Sequence[Value]
) -> Results:
    if len(boundary.arguments) != len(inputs):
        return Results((), "the oracle knows tensors of static shape only")
    values = dict(constants)
    for position, tensor in boundary.arguments.items():
        dtype = numpy_dtype(graph.types[tensor].element)
        given = np.asarray(inputs[position])
        values[tensor] = given if dtype is None else given.astype(dtype)
    unknown = next((op for op in graph.ops if _unknown(op)), None)
    if isinstance(unknown, Opaque):
        return Results((), f"the oracle does not know {unknown.name}")
    for op in graph.ops:
        if isinstance(op, Constant) and op.result not in values:
            kind = graph.types[op.result]
            values[op.result] = np.zeros(kind.shape, numpy_dtype(kind.element))
    known = tuple(op for op in graph.ops if not isinstance(op, Opaque))
    try:
        found = evaluate(replace(graph, ops=known, names=()), values)
    except OracleError as error:
        return Results((), str(error))
    return Results(tuple(demoted(found[t]) for t in boundary.results.values()))


def _unknown(op: object) -> bool:
    return isinstance(op, Opaque) and op.name not in _EDGES


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
