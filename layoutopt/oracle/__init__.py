"""The NumPy meaning of a graph: what every rule and every emitted module is held against."""

from layoutopt.oracle.evaluate import OracleError, evaluate, evaluate_op

__all__ = ["OracleError", "evaluate", "evaluate_op"]
