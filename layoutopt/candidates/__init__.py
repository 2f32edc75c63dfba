"""Enumerate what a plan can be made of."""
