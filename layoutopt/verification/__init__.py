"""Whether the plan computes the same, and how fast it does."""
