"""Weight files."""
