"""The oracle means what IREE computes: every scalar op, on random and on special numbers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from layoutopt.ir.affine import identity_map
from layoutopt.ir.graph import Graph, IteratorType, Structured, Uninitialized
from layoutopt.ir.scalar import Body, ScalarOp
from layoutopt.ir.types import Array, TensorType, integer_bits, is_complex, numpy_dtype
from layoutopt.mlir.write.emit import body_text
from layoutopt.oracle import evaluate_bounded
from layoutopt.pricing.measure.batch import Batch, function_name, write_module
from layoutopt.pricing.measure.benchmark import Benchmark, Operand, Result
from layoutopt.pricing.measure.benchmark import Case as Run
from layoutopt.profiles.target import load_target
from layoutopt.runtime.binding import Device
from layoutopt.runtime.comparison import difference
from layoutopt.runtime.compile import CompileOutcome, compile_candidates
from tests.scalar_ops import NO_OPERANDS, SEVERAL_RESULTS, Case, cases, registered

REFUSED_BY_IREE = {
    "arith.flush_denormals f32 -> f32",
    "arith.maxnumf f16, f16 -> f16",
    "arith.minnumf f16, f16 -> f16",
    "complex.bitcast complex<f32> -> i64",
    "math.clampf f32, f32, f32 -> f32",
    "math.erfc bf16 -> bf16",
    "math.erfc f16 -> f16",
    "math.erfc f32 -> f32",
    *(f"math.{op} {kind} -> {kind}" for op in ("log10",) for kind in ("f32", "f16", "bf16")),
    *(f"math.{op} {kind} -> i1" for op in ("isinf", "isnormal") for kind in ("f32", "bf16")),
    "math.ipowi i32, i32 -> i32",
}
"""What IREE 3.13 does not compile for a CPU."""
NEEDS_BF16 = "arith.sitofp i32 -> bf16"
"""What IREE 3.13 only compiles for a CPU that rounds to bf16 in hardware (AVX512-BF16): on others
it calls a function that it does not bring along."""
_MOST = 16
"""Results of one function: a dispatch takes 32 tensors at most."""
SPECIAL = (0.0, -0.0, 1.0, -1.0, 0.5, -2.5, np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-30)
_COUNT = 48
_DIVISIONS = ("divsi", "divui", "remsi", "remui")


@dataclass(frozen=True)
class Trial:
    """Cases of the same operands as one op of several results, and what the oracle makes of it."""

    cases: tuple[Case, ...]
    inputs: tuple[Array, ...]
    expected: tuple[Array, ...]
    allowed: tuple[Array, ...]
    benchmark: Benchmark


def numbers(kind: str, rng: np.random.Generator) -> Array:
    """Random and special numbers of a type."""
    dtype = numpy_dtype(kind)
    bits = integer_bits(kind)
    if is_complex(kind):
        return np.asarray(rng.normal(size=_COUNT) + 1j * rng.normal(size=_COUNT)).astype(dtype)
    if bits is None:
        wide = np.concatenate([SPECIAL, rng.normal(size=_COUNT - len(SPECIAL)) * 4])
        if kind == "f8E8M0FNU":
            wide = np.exp2(np.clip(np.round(np.nan_to_num(wide)), -4, 4))
        with np.errstate(all="ignore"):
            found = rng.permutation(wide).astype(dtype)
        # IREE takes the NaN of f8E4M3FN for a number
        return (
            found if kind != "f8E4M3FN" else np.nan_to_num(found.astype(np.float32)).astype(dtype)
        )
    if bits == 1:
        return rng.integers(0, 2, _COUNT).astype(dtype)
    least = -(1 << (bits - 1))
    ends = [least, -least - 1, 0, 1, -1]
    found = np.concatenate([ends, rng.integers(max(least, -100), min(-least, 100), _COUNT - 5)])
    return rng.permutation(found.astype(np.int64)).astype(dtype)


def divides(case: Case) -> bool:
    return case.op.startswith("arith.") and case.op.endswith(_DIVISIONS)


def trial(group: tuple[Case, ...]) -> Trial:
    operands = group[0].operands
    rng = np.random.default_rng(0)
    inputs = [numbers(kind, rng) for kind in operands]
    bits = integer_bits(operands[-1]) or 0
    if all(case.op.startswith("arith.sh") for case in group):
        inputs[1] = (inputs[1].astype(np.int64) % (bits + 1)).astype(inputs[1].dtype)
    if divides(group[0]):  # by zero, or the least number by -1, ends the process on some processors
        inputs[1] = np.where(np.isin(inputs[1], (0, -1)), 3, inputs[1]).astype(inputs[1].dtype)
    if group[0].op == "math.fpowi":
        inputs[0] = np.abs(inputs[0])  # IREE goes by the logarithm: NaN for a negative base
    body, results = _body(group)
    places = tuple(range(len(operands)))
    made = tuple(range(len(operands), len(operands) + len(group)))
    op = Structured(
        places, (Uninitialized(),) * len(group), made, (_COUNT,), (IteratorType.PARALLEL,),
        (identity_map(1),) * (len(operands) + len(group)), body,
    )  # fmt: skip
    types = tuple(TensorType((_COUNT,), kind) for kind in (*operands, *results))
    graph = Graph(types, (op,), places, made)
    values, errors = evaluate_bounded(graph, dict(enumerate(inputs)))
    benchmark = Benchmark(
        tuple(Operand(f"%t{t}", str(types[t])) for t in places), (), body_text(graph),
        tuple(Result(f"%t{t}", str(types[t])) for t in made), load_target("host").flags,
        lambda: Run((), (), ()),
    )  # fmt: skip
    nothing = np.zeros(_COUNT)
    return Trial(
        group, tuple(inputs), tuple(values[t] for t in made),
        tuple(errors.get(t, nothing) for t in made), benchmark,
    )  # fmt: skip


def _body(group: tuple[Case, ...]) -> tuple[Body, list[str]]:
    """An op for each case; an index does not cross the edge of a dispatch."""
    operands = group[0].operands
    results = ["i64" if case.result == "index" else case.result for case in group]
    arguments = len(operands) + len(group)
    ops: list[ScalarOp] = []
    yields = []
    for case in group:
        ops.append(ScalarOp(case.op, tuple(range(len(operands))), case.result, attributes(case)))
        if case.result == "index":
            ops.append(ScalarOp("arith.index_cast", (arguments + len(ops) - 1,), "i64"))
        yields.append(arguments + len(ops) - 1)
    return Body((*operands, *results), tuple(ops), tuple(yields)), results


def attributes(case: Case) -> tuple[tuple[str, str], ...]:
    if not case.attributes:
        return ()
    name, _, value = case.attributes.partition(" = ")
    return ((name, value),)


def groups() -> list[tuple[Case, ...]]:
    """Cases of the same operands together; those whose operands are chosen are apart."""
    found: dict[object, list[Case]] = {}
    for case in cases():
        if case.label not in REFUSED_BY_IREE:
            apart = case.op.startswith("arith.sh"), divides(case), case.op == "math.fpowi"
            key = case.operands, *apart, case.label == NEEDS_BF16
            found.setdefault(key, []).append(case)
    return [
        tuple(group[i : i + _MOST]) for group in found.values() for i in range(0, len(group), _MOST)
    ]


def test_every_registered_op_is_in_the_table() -> None:
    listed = {case.op for case in cases()} | SEVERAL_RESULTS | NO_OPERANDS
    assert listed == registered()


def compiled(trials: list[Trial], module: Path) -> CompileOutcome:
    batch = Batch(tuple(t.benchmark for t in trials), tuple(range(len(trials))))
    source = module.with_suffix(".mlir")
    source.write_text(write_module(batch).text)
    return compile_candidates(source, module, batch.flags, 500.0)


def test_every_scalar_op_means_what_iree_computes(tmp_path: Path) -> None:
    trials = [trial(group) for group in groups()]
    alone = [t for t in trials if t.cases[0].label == NEEDS_BF16]
    outcome = compiled(alone, tmp_path / "needs_bf16.vmfb")
    if not outcome.ok:
        assert outcome.reason == "undefined symbol: __truncsfbf2"
        trials.remove(*alone)
    module = tmp_path / "ops.vmfb"
    outcome = compiled(trials, module)
    assert outcome.ok, outcome.reason
    program = Device("local-sync", 1).load(module)
    wrong: dict[str, str] = {}
    for place, held in enumerate(trials):
        got = program.prepare(function_name(place), held.inputs).run()
        for case, one, value, error in zip(
            held.cases, got, held.expected, held.allowed, strict=True
        ):
            if reason := difference([one], [value], [error]):
                wrong[case.label] = reason
    assert wrong == {}


@pytest.mark.parametrize("group", groups(), ids=lambda group: group[0].label)
def test_few_results_are_left_unchecked(group: tuple[Case, ...]) -> None:
    """A bound that allows anything would make the test above one that cannot fail."""
    held = trial(group)
    for case, error in zip(held.cases, held.allowed, strict=True):
        assert np.count_nonzero(np.isinf(error)) <= 0.8 * _COUNT, case.label
