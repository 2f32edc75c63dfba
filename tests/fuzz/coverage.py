"""What of layoutopt a run has reached: rewrites, propagation rules, forms, conversions."""

from __future__ import annotations

from collections import Counter

from layoutopt.candidates.candidate import Candidate
from layoutopt.candidates.cluster import Cluster
from layoutopt.candidates.explore import Space
from layoutopt.candidates.form import Form
from layoutopt.ir.graph import Graph, Op, Pack, Reshape, Structured, Unpack
from layoutopt.ir.layout import Layout
from layoutopt.rules.propagation import RULES
from layoutopt.rules.propagation.barrier import BarrierLayouts
from layoutopt.rules.rewrites import REWRITES

PASSING = tuple(kind for kind, rule in RULES.items() if not isinstance(rule, BarrierLayouts))
"""Kinds of ops that layouts pass through."""
FORMS = (*(f.value for f in Form if f is not Form.AS_IT_CAME), "atomic", "region")
CONVERSIONS = ("reshape", "transpose", "pack", "unpack", "unpack and pack", "padding")


NORMALIZED = ("bubble-up-unpack", "push-down-pack", "pack-to-transpose")
"""Normalization rules whose ops stay until the end."""


def wanted() -> tuple[str, ...]:
    """All that a run should reach."""
    return (
        *(f"rewrite {name}" for name in (*(rule.name for rule in REWRITES), *NORMALIZED)),
        *(f"layouts of {kind.__name__.lower()}" for kind in PASSING),
        *(f"form {name}" for name in FORMS),
        *(f"conversion {name}" for name in CONVERSIONS),
    )


class Coverage:
    """Counts of what was reached."""

    def __init__(self) -> None:
        self.seen: Counter[str] = Counter()

    def space(self, space: Space) -> None:
        """The rewrites that made something."""
        names = {name for names in space.egraph.rule for name in names}
        self.seen.update(f"rewrite {name}" for name in names)

    def candidate(self, graph: Graph, cluster: Cluster, candidate: Candidate) -> None:
        """Ops that took layouts of their own, and the form."""
        layouts = dict(candidate.layouts)
        for index in cluster.ops:
            op = graph.ops[index]
            if type(op) in PASSING and _relaid(op, layouts):
                self.seen[f"layouts of {type(op).__name__.lower()}"] += 1
        flags = {
            candidate.form.value: candidate.form is not Form.AS_IT_CAME,
            "atomic": cluster.atomic,
            "region": cluster.region,
        }
        self.seen.update(f"form {name}" for name, there in flags.items() if there)

    def conversion(self, form: Graph) -> None:
        """What a conversion is made of."""
        kinds = {type(op) for op in form.ops}
        if {Pack, Unpack} <= kinds:
            name = "unpack and pack"
        elif Pack in kinds or Unpack in kinds:
            name = "pack" if Pack in kinds else "unpack"
        elif kinds <= {Reshape}:
            name = "reshape"
        else:
            refilled = any(isinstance(op, Structured) and len(op.body.ops) for op in form.ops)
            name = "padding" if refilled else "transpose"
        self.seen[f"conversion {name}"] += 1

    def missing(self) -> tuple[str, ...]:
        """What was not reached."""
        return tuple(name for name in wanted() if not self.seen[name])


def _relaid(op: Op, layouts: dict[int, Layout]) -> bool:
    return any(not layouts[t].is_row_major for t in (*op.inputs, *op.outputs) if t in layouts)
