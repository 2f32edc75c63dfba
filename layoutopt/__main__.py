"""``python -m layoutopt``."""

from layoutopt.cli import main

main()
