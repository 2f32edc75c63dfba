"""The NumPy meaning of a graph: what every rule and every emitted module is held against."""

from layoutopt.oracle.error import OracleError
from layoutopt.oracle.evaluate import evaluate, evaluate_bounded, evaluate_op

__all__ = ["OracleError", "evaluate", "evaluate_bounded", "evaluate_op"]
