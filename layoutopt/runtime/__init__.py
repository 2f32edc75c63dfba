"""Processes, compiled modules and devices."""
