"""Inits that are constants or broadcasts, which are better read as inputs.

As an init such a tensor is captured read-write, copied, and read back by every tile of a reduction
(iree-org/iree issue 12233); as an input it is read once and a broadcast is never spread out.
"""

from __future__ import annotations

from layoutopt.ir.graph import FromTensor, Graph, Init, Structured


def constant_init(graph: Graph, init: Init) -> int | None:
    """The init of an op, where it is a constant or a broadcast."""
    if not isinstance(init, FromTensor):
        return None
    if init.tensor in graph.constants:
        return init.tensor
    makers = [graph.ops[i] for i in graph.producers[init.tensor]]
    copies = [m for m in makers if isinstance(m, Structured) and m.is_copy]
    return init.tensor if copies else None
