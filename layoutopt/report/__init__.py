"""What came of a run."""
