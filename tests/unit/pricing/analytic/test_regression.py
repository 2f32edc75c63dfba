"""What numbers of things tell of things like them."""

from __future__ import annotations

import numpy as np
import pytest

from layoutopt.pricing.analytic.regression import (
    Kernel,
    Level,
    Points,
    Regression,
    told_elsewhere,
)

KERNEL = Kernel((Level(0.1, 0.0), Level(1.0, 0.5)), length=2.0, noise=0.01)


def points(*rows: tuple[int, float]) -> Points:
    """Each with a label of its own beside the one that all have."""
    labels = np.array([[0, label] for label, _ in rows])
    return Points(labels, np.array([[place] for _, place in rows]))


def test_what_is_known_is_expected_again() -> None:
    known = points((1, 0.0), (1, 1.0), (2, 0.0))
    mean, deviation = Regression(KERNEL, known, [2.0, 2.5, -1.0]).at(known)
    assert mean == pytest.approx([2.0, 2.5, -1.0], abs=0.05)
    assert (deviation < 0.2).all()


def test_labels_and_nearness_tell() -> None:
    """Those of another label are expected to be usual, and may be anything."""
    regression = Regression(KERNEL, points((1, 0.0), (1, 1.0), (2, 0.0)), [2.0, 2.5, -1.0])
    (near, far, other), (near_by, far_by, other_by) = regression.at(
        points((1, 1.2), (1, 9.0), (3, 0.0))
    )
    assert near > 2.3
    assert 1.5 < far < near
    assert near_by < far_by < other_by
    assert abs(other - 1.0) < 1.0
    assert other_by == pytest.approx(np.sqrt(KERNEL.variance), rel=0.1)


def test_the_equations_are_those_of_the_book() -> None:
    """With a mean of zero and one sample: k / (k + n) * y, and k - k^2 / (k + n) + n."""
    kernel = Kernel((Level(2.0, 0.0),), length=1.0, noise=0.5)
    one = Points(np.zeros((2, 1), np.int64), np.zeros((2, 1)))
    mean, deviation = Regression(kernel, one, [3.0, -3.0]).at(one.part(np.array([0])))
    assert mean == pytest.approx([0.0], abs=1e-9)
    assert deviation**2 == pytest.approx([2.0 + 0.5 - 2 * 2.0**2 / (2 * 2.0 + 0.5)])


def test_many_points_are_those_one_by_one() -> None:
    regression = Regression(KERNEL, points((1, 0.0), (2, 3.0)), [1.0, 2.0])
    rows = [(number % 3, number / 100) for number in range(5000)]
    mean, deviation = regression.at(points(*rows))
    for place in (0, 2047, 2048, 4999):
        alone, by = regression.at(points(rows[place]))
        assert (mean[place], deviation[place]) == pytest.approx((alone[0], by[0]))


HERE = points((1, 0.0), (1, 1.0), (2, 0.5), (3, 2.0))
ELSEWHERE = points((1, 0.2), (2, 0.0), (2, 1.0))
VALUES = [1.0, -0.5, 0.25]


@pytest.mark.parametrize("trusted", [0.0, 0.6, 1.0])
def test_values_elsewhere_tell_as_one_process_for_both_would(trusted: float) -> None:
    """The joint covariance of samples here and there, as a whole and in two steps."""
    before = told_elsewhere(KERNEL, HERE, ELSEWHERE, VALUES).trusted(trusted)
    samples, known = np.array([0, 2]), [1.5, -1.0]
    regression = Regression(KERNEL, HERE.part(samples), known, before.part(samples))
    mean, deviation = regression.at(HERE, before)

    there = KERNEL.covariance(ELSEWHERE, ELSEWHERE) + KERNEL.noise * np.eye(3)
    weights = np.linalg.solve(there, np.ones(3))
    usual = float(weights @ VALUES / weights.sum())
    own = KERNEL.covariance(HERE, HERE) + 0.25
    across = trusted * KERNEL.covariance(HERE, ELSEWHERE)
    whole = np.block(
        [[own[np.ix_(samples, samples)] + KERNEL.noise * np.eye(2), across[samples]],
         [across[samples].T, there]]
    )  # fmt: skip
    shared = np.concatenate([own[:, samples], across], axis=1)
    left = np.concatenate([np.array(known) - trusted * usual, np.array(VALUES) - usual])
    assert mean == pytest.approx(trusted * usual + shared @ np.linalg.solve(whole, left))
    told = np.einsum("ij,ji->i", shared, np.linalg.solve(whole, shared.T))
    assert deviation**2 == pytest.approx(KERNEL.variance + 0.25 + KERNEL.noise - told)


def test_values_elsewhere_are_expected_where_none_is_known_here() -> None:
    before = told_elsewhere(KERNEL, ELSEWHERE, ELSEWHERE, VALUES)
    none = np.array([], np.int64)
    regression = Regression(KERNEL, ELSEWHERE.part(none), [], before.part(none))
    mean, _ = regression.at(ELSEWHERE, before)
    assert mean == pytest.approx(VALUES, abs=0.1)


def test_the_likelihood_tells_how_far_to_believe_values_elsewhere() -> None:
    rows = [(label, place) for label in range(6) for place in (0.0, 1.0, 2.0)]
    there, here = points(*rows), points(*((label, place + 0.1) for label, place in rows))
    values = [float((-1) ** label * (1 + label / 3)) for label, _ in rows]
    before = told_elsewhere(KERNEL, here, there, values)

    def likelier(known: list[float]) -> float:
        return max(
            (0.0, 0.5, 0.95),
            key=lambda s: Regression(KERNEL, here, known, before.trusted(s)).log_likelihood,
        )

    assert likelier([value + 0.3 for value in values]) == 0.95
    assert likelier(values[6:] + values[:6]) < 0.95
    assert likelier([-value for value in values]) == 0.0
