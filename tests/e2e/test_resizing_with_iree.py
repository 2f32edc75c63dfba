"""Nearest-neighbour resizing, as IREE runs the model and what it is lifted to."""

import numpy as np
import pytest
from iree import compiler, runtime

from layoutopt.ir.types import Array
from tests.parsing import lifted, verified
from tests.property.layouts import small_integers
from tests.resizing import resizing


def run(text: str, values: list[Array]) -> Array:
    module = compiler.tools.compile_str(text, target_backends=["llvm-cpu"])
    loaded = runtime.load_vm_flatbuffer(module, driver="local-sync")
    return np.asarray(loaded["f"](*values))


@pytest.mark.parametrize("added", [False, True])
def test_a_resize_is_what_it_was(added: bool) -> None:
    text = resizing(added=added)
    graph = lifted(text)
    values = [small_integers(graph.types[t], t) for t in graph.inputs]
    assert np.array_equal(run(verified(graph), values), run(text, values))
