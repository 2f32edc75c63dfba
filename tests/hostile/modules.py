"""Modules with ops, types and attributes that a graph does not hold, by what is odd about them."""

from __future__ import annotations

from tests.hostile.bodies import BODIES
from tests.hostile.functions import FUNCTIONS
from tests.hostile.ops import OPS
from tests.hostile.sizes import SIZES
from tests.hostile.types import TYPES
from tests.hostile.values import VALUES

PLANNED: dict[str, str] = OPS | TYPES | BODIES | VALUES | FUNCTIONS | SIZES
