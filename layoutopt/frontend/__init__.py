"""Models in ONNX and other dialects, brought to linalg and kept."""
