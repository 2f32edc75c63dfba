"""Analytic prices: how long a dispatch takes on a target that is not here, and how sure that is."""
