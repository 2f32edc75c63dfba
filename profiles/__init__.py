"""Targets and their prices."""
