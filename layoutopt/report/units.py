"""Times as people read them."""

from __future__ import annotations

from layoutopt.report.report import Side


def milliseconds(value: float) -> str:
    """Three significant digits at least, and no more decimals than a clock is good for."""
    if value >= 100:
        return f"{value:.0f}"
    if value >= 10:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def predicted(side: Side) -> str:
    """Milliseconds, with their range where they rest on estimates."""
    if side.predicted_ms is None:
        return "-"
    text = milliseconds(side.predicted_ms)
    if side.predicted_range_ms is None:
        return text
    return f"{text} ({' to '.join(map(milliseconds, side.predicted_range_ms))})"
