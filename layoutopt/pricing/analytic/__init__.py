"""Estimates for targets that are not here."""
