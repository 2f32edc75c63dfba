"""Small valid files of every kind that the command line reads."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import helper, numpy_helper

from layoutopt.ir.types import Array
from layoutopt.profiles.store import Store
from layoutopt.profiles.store_record import Provenance, Record
from layoutopt.profiles.target import target_text
from tests.mutated_inputs.contained import LIMIT_S, Ended, Running
from tests.mutated_inputs.texts import MATMUL, MOVES, WINDOWS
from tests.parameters import TIED, planned, tied_parameters, transposed, write_archive

PROFILE = "x86-64-avx512"
TEXTS = {"matmul": MATMUL, "windows": WINDOWS, "moves": MOVES}


def write_seeds(folder: Path, measured: bool) -> None:
    """Fill a folder; ``measured``: with the cache of a run on this machine, which takes a while."""
    for name, text in TEXTS.items():
        (folder / f"{name}.mlir").write_text(text)
    _run(folder, "optimize", "matmul.mlir", f"--profile={PROFILE}", "--cache=made",
         "-o", "planned.mlirbc", "--report=report.json", "--plan-out=plan.json")  # fmt: skip
    for name in ("windows", "moves"):
        _run(folder, "optimize", f"{name}.mlir", f"--profile={PROFILE}", "--cache=made",
             "-o", f"{name}.planned.mlir", f"--report={name}.report.json",
             f"--plan-out={name}.plan.json")  # fmt: skip
        converted = sorted((folder / "made" / "converted").glob("*.mlirbc"))[0]
        shutil.copy(converted, folder / f"{name}.mlirbc")
        shutil.rmtree(folder / "made")
    (folder / "target.toml").write_text(target_text(PROFILE))
    (folder / "gpu.toml").write_text(target_text("mi355x"))
    _write_onnx(folder / "model.onnx")
    (folder / "external.mlir").write_text(TIED)
    write_archive(folder / "weights.irpa", tied_parameters())
    _write_packable(folder)
    _write_store(folder / "prices.sqlite")
    _run(folder, "profile", "merge", "prices.sqlite", "--cache=from")
    _run(folder, "profile", "export", "prices.jsonl", "--cache=from")
    if measured:
        _run(folder, "optimize", "matmul.mlir", "--cache=cache")


def _run(folder: Path, *arguments: str) -> None:
    running = Running.start(arguments, folder)
    ended: Ended | None = None
    while ended is None:
        ended = running.ended()
    if ended.code != 0:
        raise RuntimeError(f"{' '.join(arguments)}: {ended} (limit {LIMIT_S} s)")


def _write_onnx(path: Path) -> None:
    weights = numpy_helper.from_array(np.full((8, 8), 0.5, np.float32), "w")
    kind = (onnx.TensorProto.FLOAT, [8, 8])
    nodes: Sequence[onnx.NodeProto] = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("Relu", ["h"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "scale",
        [helper.make_tensor_value_info("x", *kind)],
        [helper.make_tensor_value_info("y", *kind)],
        [weights],
    )
    opsets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), str(path))


def _write_packable(folder: Path) -> None:
    """A module that transposes a parameter when it is loaded, and the file for it."""
    rng = np.random.default_rng(0)
    weights = {"a": rng.random((8, 4), np.float32), "b": rng.random((4, 8), np.float32)}
    write_archive(folder / "packable.irpa", weights)
    _write_safetensors(folder / "packable.safetensors", weights)
    module = planned(
        transposed("moved", "a", 8, 4),
        "%b = util.global.load @b : tensor<4x8xf32>",
        'util.global private @a = #stream.parameter.named<"model"::"a"> : tensor<8x4xf32>\n'
        'util.global private @b = #stream.parameter.named<"model"::"b"> : tensor<4x8xf32>',
    )
    (folder / "packable.mlir").write_text(module)


def _write_safetensors(path: Path, arrays: dict[str, Array]) -> None:
    table, at = {}, 0
    for name, array in arrays.items():
        offsets = [at, at + array.nbytes]
        table[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": offsets}
        at += array.nbytes
    head = json.dumps(table).encode()
    body = b"".join(array.tobytes() for array in arrays.values())
    path.write_bytes(len(head).to_bytes(8, "little") + head + body)


def _write_store(path: Path) -> None:
    made = Provenance("layoutopt optimize", "2026-01-01T00:00:00Z", "a machine")
    with Store(path) as store:
        for key in ("a", "b", "c"):
            outcome = "ok" if key != "c" else "compile-error"
            text = f"linalg.matmul {key}"
            store.put(Record(key, "t", "3.13", ("--x",), text, outcome, (5, 6, 7), "", made))
