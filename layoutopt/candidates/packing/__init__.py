"""Packed forms of contractions."""
