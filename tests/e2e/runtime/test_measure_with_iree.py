from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from layoutopt.errors import InputError
from layoutopt.pricing.measure.batch import Batch, write_module
from layoutopt.pricing.measure.benchmark import Benchmark, Case, Operand, Result
from layoutopt.pricing.measure.measure import Measurer, MeasureSetting, Outcome, Protocol
from layoutopt.profiles.store import Store
from layoutopt.runtime import compile as compile_module
from layoutopt.runtime.compile import CompileOutcome, compile_candidates, compile_file
from layoutopt.runtime.element import Array
from layoutopt.runtime.process import Ended, run_tool
from layoutopt.runtime.sampling import Launching

ROOT = Path(__file__).parents[3]
MakeMatmul = Callable[..., Benchmark]
Flags = tuple[str, ...]


class CountingCompiler:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(
        self, source: Path, output: Path, flags: Flags, timeout_s: float
    ) -> CompileOutcome:
        self.calls += 1
        return compile_file(source, output, flags, timeout_s)


def elementwise(
    body: str, x: Array, result: Array, element: str, flags: Flags, weights: tuple[Array, ...] = ()
) -> Benchmark:
    """A candidate over %x and the weights %w0, %w1, ... of one type, with the result %r."""
    dims = "x".join(str(size) for size in x.shape)
    type_ = f"tensor<{dims}x{element}>"
    return Benchmark(
        (Operand("%x", type_),),
        tuple(Operand(f"%w{index}", type_) for index in range(len(weights))),
        body,
        (Result("%r", type_),),
        flags,
        lambda: Case((x,), weights, (result,), (np.asarray(1e-6 * np.abs(result).max()),)),
    )


def test_what_is_measured_is_the_code_that_ships(
    tmp_path: Path, matmul: MakeMatmul, flags: Flags
) -> None:
    """Flags that make compiling quicker change nothing but the tables for debuggers."""
    source = tmp_path / "batch.mlir"
    source.write_text(write_module(Batch((matmul(64, 64, 64),), (0,))).text)
    plain, quick = tmp_path / "plain.vmfb", tmp_path / "quick.vmfb"
    assert compile_file(source, plain, (*flags, "--iree-llvmcpu-debug-symbols=false"), 60.0).ok
    assert compile_candidates(source, quick, flags, 60.0).ok
    assert plain.read_bytes() == quick.read_bytes()


def test_good_and_bad_candidates(store: Store, matmul: MakeMatmul, flags: Flags) -> None:
    ones = np.ones(4, np.float32)
    far = np.full(4, 2_000_000_000, np.int32)
    hangs = """
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %many = arith.constant 1000000000000 : index
      %r = scf.for %i = %zero to %many step %one iter_args(%a = %x) -> (tensor<4xf32>) {
        %next = arith.addf %a, %x : tensor<4xf32>
        scf.yield %next : tensor<4xf32>
      }"""
    reads_far_away = """
      %empty = tensor.empty() : tensor<4xi32>
      %r = linalg.generic {
        indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>],
        iterator_types = ["parallel"]
      } ins(%x : tensor<4xi32>) outs(%empty : tensor<4xi32>) {
      ^bb0(%in: i32, %out: i32):
        %place = arith.index_cast %in : i32 to index
        %value = tensor.extract %w0[%place] : tensor<4xi32>
        linalg.yield %value : i32
      } -> tensor<4xi32>"""
    candidates = [
        matmul(64, 64, 64),
        matmul(32, 64, 64, offset=1.0),
        elementwise("%r = arith.addf %x, %unknown : tensor<4xf32>", ones, ones, "f32", flags),
        elementwise(hangs, ones, ones, "f32", flags),
        elementwise(reads_far_away, far, far, "i32", flags, (far,)),
        matmul(16, 64, 64),
    ]
    count = CountingCompiler()
    with Measurer(store, MeasureSetting("host", run_timeout_s=1.5), compile_one=count) as measurer:
        results = measurer.measure(candidates)
        calls = count.calls
        assert measurer.measure(candidates) == results
    assert count.calls == calls
    assert [result.outcome for result in results] == [
        Outcome.OK,
        Outcome.MISMATCH,
        Outcome.COMPILE_ERROR,
        Outcome.RUN_TIMEOUT,
        Outcome.RUN_CRASH,
        Outcome.OK,
    ]
    reasons = [result.reason for result in results]
    assert reasons[1].startswith("result 0: 2048 of 2048 values are wrong; at (")
    assert reasons[2].startswith("use of undeclared SSA value name")
    assert reasons[3] == "did not finish within 1.5 s"
    assert reasons[4] == "crashed (SIGSEGV)"
    assert all(len(result.samples_ns) >= 3 for result in results if result.ok)
    assert {record.outcome for record in store.records()} == {
        result.outcome.value for result in results
    }


@pytest.mark.parametrize(
    ("script", "rows_of_candidates", "timeout_s", "outcome", "reason"),
    [
        (
            "sleep 60",
            (13,),
            0.8,
            Outcome.COMPILE_TIMEOUT,
            "iree-compile did not finish within 0.9 s",
        ),
        (
            "kill -SEGV $$",
            (12, 13, 14),
            60.0,
            Outcome.COMPILE_CRASH,
            "iree-compile crashed (SIGSEGV)",
        ),
    ],
)
def test_a_compiler_that_fails_on_one_candidate(
    store: Store,
    matmul: MakeMatmul,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    script: str,
    rows_of_candidates: tuple[int, ...],
    timeout_s: float,
    outcome: Outcome,
    reason: str,
) -> None:
    real = compile_module.find_tool("iree-compile")
    fake = tmp_path / "iree-compile"
    fake.write_text(f'#!/bin/sh\ngrep -q 13x64 "$1" && {{ {script}; }}\nexec "{real}" "$@"\n')
    fake.chmod(0o755)
    monkeypatch.setattr(compile_module, "find_tool", lambda name: str(fake))
    with Measurer(store, MeasureSetting("host", compile_timeout_s=timeout_s)) as measurer:
        results = measurer.measure([matmul(rows, 8, 64) for rows in rows_of_candidates])
    outcomes = dict(zip(rows_of_candidates, results, strict=True))
    bad = outcomes.pop(13)
    assert (bad.outcome, bad.reason) == (outcome, reason)
    assert all(result.ok for result in outcomes.values())


@pytest.mark.parametrize("launches", [1, 4])
def test_a_candidate_that_exceeds_the_stack_limit(
    launches: int, store: Store, flags: Flags
) -> None:
    limit = (*flags, "--iree-opt-data-tiling", "--iree-llvmcpu-stack-allocation-limit=64")
    lhs, rhs, out = (f"tensor<{dims}xf32>" for dims in ("64x70", "70x50", "64x50"))
    x, y = np.ones((64, 70), np.float32), np.ones((70, 50), np.float32)
    even = np.full((64, 50), 0.02, np.float32)
    body = f"""
      %zero = arith.constant 0.0 : f32
      %empty = tensor.empty() : {out}
      %init = linalg.fill ins(%zero : f32) outs(%empty : {out}) -> {out}
      %m = linalg.matmul ins(%x, %y : {lhs}, {rhs}) outs(%init : {out}) -> {out}
      %other = tensor.empty() : {out}
      %r = linalg.softmax dimension(1) ins(%m : {out}) outs(%other : {out}) -> {out}"""
    operands = (Operand("%x", lhs), Operand("%y", rhs))
    case = Case((x, y), (), (even,), (np.asarray(1e-5 * np.abs(even).max()),))
    deep = Benchmark(operands, (), body, (Result("%r", out),), limit, lambda: case)
    sums = elementwise(f"%r = arith.addf %x, %x : {lhs}", x, x * 2, "f32", limit)
    unparsed = elementwise(f"%r = arith.addf %x, %unknown : {lhs}", x, x, "f32", limit)
    setting = MeasureSetting("host", protocol=Protocol(launching=Launching(launches)))
    with Measurer(store, setting) as measurer:
        refused, good, bad = measurer.measure([deep, sums, unparsed])
    assert refused.outcome is bad.outcome is Outcome.COMPILE_ERROR
    assert "exceeded stack allocation limit" in refused.reason
    assert "undeclared SSA value name" in bad.reason
    assert good.ok


def test_data_tiled_weights_are_packed_before_timing(
    store: Store, matmul: MakeMatmul, flags: Flags
) -> None:
    tiled_flags = ("--iree-opt-data-tiling",)
    few_rows = matmul(8, 1024, 1024, "{iree.opt.data_tiling}", tiled_flags)
    with Measurer(store, MeasureSetting("host")) as measurer:
        (result,) = measurer.measure([few_rows])
    assert result.ok
    # 8 MFLOP and 4 MB to read; packing 4 MB in each call would at least double the time.
    random = np.random.default_rng(0).standard_normal((1024, 1024), np.float32)
    started = time.perf_counter_ns()
    for _ in range(5):
        np.ascontiguousarray(random.reshape(128, 8, 1024).transpose(0, 2, 1))
    repack_ns = (time.perf_counter_ns() - started) / 5
    assert result.median_ns < repack_ns + 2_000_000


def test_element_types(store: Store, flags: Flags) -> None:
    candidates = []
    for element, dtype in (
        ("f16", np.dtype(np.float16)),
        ("bf16", np.dtype(ml_dtypes.bfloat16)),
    ):
        x, twice = np.arange(8).astype(dtype), np.arange(0, 16, 2).astype(dtype)
        body = f"%r = arith.addf %x, %w0 : tensor<8x{element}>"
        candidates.append(elementwise(body, x, twice, element, flags, (x,)))
    for element, kind in (("i8", np.int8), ("i16", np.int16), ("i32", np.int32), ("i64", np.int64)):
        y, two_y = np.arange(8).astype(kind), np.arange(0, 16, 2).astype(kind)
        body = f"%r = arith.addi %x, %w0 : tensor<8x{element}>"
        candidates.append(elementwise(body, y, two_y, element, flags, (y,)))
    z = np.arange(8) % 2 == 0
    body = "%r = arith.xori %x, %w0 : tensor<8xi1>"
    candidates.append(elementwise(body, z, np.zeros(8, np.bool_), "i1", flags, (z,)))
    with Measurer(store, MeasureSetting("host")) as measurer:
        results = measurer.measure(candidates)
    assert [(result.outcome, result.reason) for result in results] == [(Outcome.OK, "")] * 7


def test_cliffs_get_few_samples(store: Store, matmul: MakeMatmul) -> None:
    with Measurer(store, MeasureSetting("host")) as measurer:
        quick, slow = measurer.measure([matmul(16, 16, 16), matmul(256, 512, 256)], group=[0, 0])
    assert quick.median_ns * 4 < slow.median_ns
    assert len(slow.samples_ns) == 3


def test_a_device_of_two_threads(store: Store, matmul: MakeMatmul) -> None:
    with Measurer(store, MeasureSetting("host", device="local-task", threads=2)) as measurer:
        (result,) = measurer.measure([matmul(64, 64, 64)])
    assert result.ok


def test_what_a_candidate_computes_is_found_while_other_tools_run(
    store: Store, matmul: MakeMatmul
) -> None:
    candidate = matmul(8, 16, 16)
    with ThreadPoolExecutor(1) as pool, Measurer(store, MeasureSetting("host")) as measurer:
        other = pool.submit(run_tool, ["sleep", "8"], 60.0)
        outputs = measurer.outputs(candidate)
        assert not other.done()
        assert other.result().ended is Ended.OK
    assert outputs is not None
    np.testing.assert_allclose(outputs[0], candidate.case().results[0], atol=1e-3)


def test_a_device_that_does_not_exist(store: Store, matmul: MakeMatmul) -> None:
    measurer = Measurer(store, MeasureSetting("host", device="local-nothing"))
    with pytest.raises(InputError) as caught:
        measurer.measure([matmul(4, 4, 4)])
    assert str(caught.value).startswith("local-nothing: expected a device that opens, but got ")
    assert str(caught.value).endswith("; choose another --device")


def status(pid: int) -> list[str]:
    """State and parent of a process as /proc gives them; empty where there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[:2]
    except (FileNotFoundError, ProcessLookupError):
        return []


def is_running(pid: int) -> bool:
    return bool(found := status(pid)) and found[0] != "Z"


def descendants(pid: int) -> list[int]:
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    children = [child for child in pids if status(child)[1:] == [str(pid)]]
    return children + [deeper for child in children for deeper in descendants(child)]


KILLED = """
import importlib.util, sys
from pathlib import Path
from layoutopt.profiles.store import Store
from layoutopt.pricing.measure.measure import Measurer, MeasureSetting
path, conftest = map(Path, sys.argv[1:])
spec = importlib.util.spec_from_file_location("candidates", conftest)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
class Progress:
    def total(self, candidates): ...
    def advance(self, candidates=1):
        print("stored", flush=True)
    def description(self, text): print(text, flush=True)
    def remaining(self, seconds): ...
setting = MeasureSetting("host", batch_size=3, compile_jobs=1)
with Store(path) as store, Measurer(store, setting) as measurer:
    measurer.measure([module._matmul(m, 16, 64) for m in range(8, 8 + 48)], Progress())
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_run_loses_nothing_and_leaves_no_process(
    tmp_path: Path, number: signal.Signals
) -> None:
    path = tmp_path / "prices.sqlite"
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(path), str(Path(__file__).with_name("conftest.py"))],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=ROOT,
        env=environment,
    )
    assert process.stdout is not None
    stored = 0
    while stored < 4:
        line = process.stdout.readline()
        assert line
        stored += line == "stored\n"
    children = descendants(process.pid)
    assert children != []
    process.send_signal(number)
    stored += sum(line == "stored\n" for line in process.stdout)
    process.stdout.close()
    process.wait(20)
    with Store(path) as store:
        assert stored <= sum(1 for _ in store.records()) < 48
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline and any(map(is_running, children)):
        time.sleep(0.05)
    assert [child for child in children if is_running(child)] == []
    if number is signal.SIGINT:
        assert list(tmp_path.glob("layoutopt-*")) == []
