"""ONNX models: imported by IREE, decomposed where it refuses an op."""
