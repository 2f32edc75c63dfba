"""Times as people read them."""

from __future__ import annotations


def milliseconds(value: float) -> str:
    """Three significant digits at least, and no more decimals than a clock is good for."""
    if value >= 100:
        return f"{value:.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 1 else f"{value:.3f}"
