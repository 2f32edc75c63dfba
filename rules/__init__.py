"""Rewrites and the propagation of layouts."""
