"""Measured on many machines."""
