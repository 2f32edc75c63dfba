"""Files that are read, written whole or not at all, and kept."""
