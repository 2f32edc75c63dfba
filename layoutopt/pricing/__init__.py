"""The price of work, in nanoseconds."""
