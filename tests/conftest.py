"""Hypothesis profiles for the whole suite."""

import os

from hypothesis import settings

# Machines that check changes are slow and shared: no deadlines, and the same examples every time.
settings.register_profile("ci", derandomize=True, deadline=None, print_blob=True)
settings.register_profile("dev", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "dev")
