"""Measured on this machine."""
