"""Reading and writing MLIR modules."""
