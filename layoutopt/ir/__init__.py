"""The dataflow graph: tensors, ops, layouts, indexing maps; no IREE."""
