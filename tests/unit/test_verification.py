"""Comparing results."""

import numpy as np

from layoutopt.verification import difference


def test_equal_results_differ_by_nothing() -> None:
    a = np.array([1.0, np.nan, np.inf])
    assert difference([a], [a.copy()]) == (0.0, 0.0)


def test_errors_are_relative_to_the_largest_magnitude() -> None:
    got = np.array([1.0, 100.5])
    assert difference([got], [np.array([1.0, 100.0])]) == (0.5, 0.005)


def test_a_value_that_is_finite_on_one_side_only_is_infinitely_wrong() -> None:
    assert difference([np.array([np.nan])], [np.array([1.0])])[1] == np.inf
    assert difference([np.array([1.0])], [np.array([np.inf])])[1] == np.inf


def test_another_shape_is_infinitely_wrong() -> None:
    assert difference([np.zeros((2, 3))], [np.zeros((3, 2))])[1] == np.inf


def test_errors_of_a_zero_result_are_absolute() -> None:
    assert difference([np.array([0.25])], [np.array([0.0])]) == (0.25, 0.25)
