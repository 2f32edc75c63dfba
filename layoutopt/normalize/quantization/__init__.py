"""Quantized tensors: contractions of integers in their place."""
