"""The NumPy meaning of a graph: what rules and candidates are compared with."""

from layoutopt.oracle.error import OracleError
from layoutopt.oracle.evaluate import evaluate, evaluate_bounded, evaluate_op

__all__ = ["OracleError", "evaluate", "evaluate_bounded", "evaluate_op"]
