"""Compiled GPU kernels: what they do, and how long that takes."""
