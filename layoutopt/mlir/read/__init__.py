"""From MLIR to graphs."""
