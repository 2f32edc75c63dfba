"""Functions of two modules run on the same inputs, here by functions of Python."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest

from layoutopt.ir.layout import Layout
from layoutopt.runtime.element import Array, Value
from layoutopt.runtime.model import Results
from layoutopt.runtime.signature import FunctionSignature
from layoutopt.verification.comparing import Compared, Run, compare_function
from layoutopt.verification.discrepancy import Allowed
from layoutopt.verification.input_kinds import InputKind
from layoutopt.verification.verified import Subject

ALLOWED = Allowed(1e-3)
VECTOR = FunctionSignature("f", ("tensor<64xf32>",), ("tensor<64xf32>",))


def run_of(function: Callable[..., Array], fails: Callable[..., bool] = lambda *_: False) -> Run:
    def run(name: str, inputs: Sequence[Sequence[Value]]) -> list[Results]:
        assert name == "f"
        return [
            Results((), "run-error (no)") if fails(*v) else Results((function(*v),)) for v in inputs
        ]

    return run


def compared(
    original: Callable[..., Array],
    plan: Callable[..., Array],
    signature: FunctionSignature = VECTOR,
    subject: Subject | None = None,
) -> Compared:
    subject = subject or Subject("f", ALLOWED)
    return compare_function(subject, signature, run_of(original), run_of(plan))


def double(x: Array) -> Array:
    return np.asarray(np.add(x, x))


def test_equal_functions_agree_on_every_kind_of_inputs() -> None:
    found = compared(double, lambda x: np.multiply(x, np.float32(2))).verified
    assert found.inputs == tuple(kind.value for kind in InputKind)
    assert (found.failure, found.unverified, found.weak, found.skipped) == ("", "", "", ())


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (lambda x: np.multiply(double(x), np.float32(1.01)), InputKind.NORMAL),
        (lambda x: np.add(double(x), np.float32(1e-5)), InputKind.TINY),
        (lambda x: np.where(x == 0, np.float32(1), double(x)), InputKind.SPARSE),
        (lambda x: np.minimum(double(x), np.float32(40)), InputKind.LARGE),
    ],
)
def test_each_kind_shows_errors_that_others_hide(
    wrong: Callable[..., Array], kind: InputKind
) -> None:
    assert f"inputs '{kind.value}', result 0: " in compared(double, wrong).verified.failure


def test_a_plan_that_fails_where_the_original_runs_is_wrong() -> None:
    plan = run_of(double, fails=lambda x: not x.any())
    found = compare_function(Subject("f", ALLOWED), VECTOR, run_of(double), plan).verified
    assert found.failure == "inputs 'zeros', run-error (no) where the original runs"


def test_inputs_that_the_original_does_not_take_are_left_out_and_named() -> None:
    original = run_of(double, fails=lambda x: not x.any())
    found = compare_function(Subject("f", ALLOWED), VECTOR, original, run_of(double)).verified
    assert found.skipped == (("zeros", "the original fails: run-error (no)"),)
    assert "zeros" not in found.inputs
    assert not found.unverified


def test_an_original_that_does_not_repeat_its_results_excuses_a_plan() -> None:
    calls = iter(range(1000))

    def racing(x: Array) -> Array:
        return np.asarray(double(x) * np.float32(1 + next(calls)), np.float32)

    found = compared(racing, double).verified
    assert found.excuses[0] == "the original gives other results when it runs again"
    assert not found.failure
    assert {why for _, why in found.skipped} == set(found.excuses)


def test_an_original_that_takes_no_inputs_leaves_the_function_unverified() -> None:
    original = run_of(double, fails=lambda x: True)
    found = compare_function(Subject("f", ALLOWED), VECTOR, original, run_of(double))
    assert found.inputs is None
    assert found.verified.unverified == (
        "none of the inputs that were tried works: the original fails: run-error (no)"
    )


def test_what_cannot_be_called_is_said() -> None:
    signature = FunctionSignature("f", ("tensor<4xf32>", "!util.list<i32>"), ())
    assert compared(double, double, signature).verified.unverified == (
        "it takes !util.list<i32>, which no value can be made up for"
    )


def test_what_the_module_does_not_declare_is_known_from_the_model() -> None:
    run = run_of(double)
    found = compare_function(Subject("f", ALLOWED), None, run, run).verified
    assert found.unverified == "the compiled module does not declare how it is called"
    subject = Subject("f", ALLOWED, ("tensor<64xf32>",))
    assert compare_function(subject, None, run, run).verified.inputs


def test_scalars_and_buffer_views_are_made_up() -> None:
    signature = FunctionSignature("f", ("!hal.buffer_view", "f32", "i32"), ("tensor<4xf32>",))
    subject = Subject("f", ALLOWED, ("tensor<4xf32>", "f32", "i32"))

    def scaled(x: Array, k: np.float32, n: np.int32) -> Array:
        return np.add(np.multiply(x, k), np.float32(n))

    assert not compared(scaled, scaled, signature, subject).verified.failure
    wrong = compared(scaled, lambda x, k, n: np.multiply(x, k), signature, subject).verified
    assert "where the original has" in wrong.failure


def test_dynamic_sizes_that_the_original_takes_are_tried() -> None:
    signature = FunctionSignature("f", ("tensor<?xf32>",), ("tensor<?xf32>",))
    even = run_of(double, fails=lambda x: x.size % 2 == 1)
    found = compare_function(Subject("f", ALLOWED), signature, even, run_of(double)).verified
    sizes = {text.rpartition(" ")[2] for text in found.inputs}
    assert sizes == {"8", "2", "32"}
    assert {name for name, _ in found.skipped} == {
        "normal at dynamic sizes 1",
        "normal at dynamic sizes 7",
    }
    wrong = run_of(lambda x: double(x) if x.size < 32 else double(x) + 1)
    found = compare_function(Subject("f", ALLOWED), signature, even, wrong).verified
    assert "dynamic sizes 32" in found.failure


def test_inputs_are_packed_and_results_unpacked_in_the_layouts_of_the_plan() -> None:
    taken, given = Layout((1, 0)), Layout((0, 1), (1,), (4,))
    subject = Subject("f", ALLOWED).lying({0: taken}, {0: given})
    signature = FunctionSignature("f", ("tensor<4x8xf32>",), ("tensor<4x8xf32>",))

    def plan(x: Array) -> Array:
        whole = taken.undo(x.reshape(8, 4), (4, 8))
        return given.apply(double(whole)).reshape(4, 8)

    assert not compared(double, plan, signature, subject).verified.failure
    assert compared(double, double, signature, subject).verified.failure


def test_what_the_original_does_itself_to_rounding_is_no_error_of_the_plan() -> None:
    """On zeros the result is the sign of a rounding error; on other inputs it is not."""

    def original(x: Array) -> Array:
        return np.asarray(x + np.sign(x.mean() + np.float32(1e-30)))

    def plan(x: Array) -> Array:
        return np.asarray(x + np.sign(x.mean() - np.float32(1e-30)))

    found = compared(original, plan).verified
    assert ("zeros", "the original turns rounding into as much") in found.skipped
    assert not found.failure
    assert "normal" in found.inputs
    assert not compared(original, lambda x: original(x) + 1).verified.skipped


@pytest.mark.parametrize(
    ("function", "text"),
    [
        (lambda x: np.full_like(x, np.nan), "its results are NaN or Inf for all inputs tried"),
        (
            np.ones_like,
            "its results were the same for all inputs tried, or nearly (a saturated softmax?)",
        ),
        (
            lambda x: np.add(1, np.multiply(x, np.float32(1e-8))),
            "its results were the same for all inputs tried, or nearly (a saturated softmax?)",
        ),
    ],
)
def test_agreement_that_says_little_is_said(function: Callable[..., Array], text: str) -> None:
    found = compared(function, function).verified
    assert (found.failure, found.weak) == ("", text)


def test_overflow_on_large_inputs_says_nothing() -> None:
    def original(x: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(x))

    found = compared(original, lambda x: np.minimum(original(x), np.float32(3e38))).verified
    assert ("large", "the original overflows") in found.skipped
    assert not found.failure


def test_more_kinds_are_tried_as_time_allows() -> None:
    run = run_of(double)
    found = compare_function(Subject("f", ALLOWED), VECTOR, run, run, budget_s=0.0).verified
    assert found.inputs == tuple(kind.value for kind in list(InputKind)[:3])
    assert ("zeros", "for want of time") in found.skipped
