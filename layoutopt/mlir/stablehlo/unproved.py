"""What a model takes for granted of sizes, and nothing in it proves."""

from __future__ import annotations

import re
from typing import Any

_PLACE = re.compile(r'"([^"]+)":(\d+):(\d+)')


class UnprovedSize(Exception):  # noqa: N818 -- the frontend tells the user
    """What was expected of an op, and what was found; with the place that the op came from."""

    def __init__(self, op: Any, expected: str, got: str) -> None:
        super().__init__(expected)
        self.expected = expected
        self.got = got
        found = _PLACE.search(str(op.location))
        self.place = ":".join(found.groups()) if found else ""
