"""From graphs to MLIR."""
