"""The templates of what reports are drawn with."""

from __future__ import annotations

from jinja2 import Environment, PackageLoader, StrictUndefined


def templates() -> Environment:
    """Those in ``page``; what they are filled with is escaped, what is missing is an error."""
    return Environment(
        loader=PackageLoader("layoutopt.report", "page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
