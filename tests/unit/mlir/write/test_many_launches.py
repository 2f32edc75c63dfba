from __future__ import annotations

import pytest

from layoutopt.mlir.write.many_launches import with_many_launches

MODULE = """
util.func public @c0(%x: !stream.resource<external>, %again: i1) -> !stream.timepoint {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %done = stream.cmd.execute with(%x as %y: !stream.resource<external>{%c16}) {
    stream.cmd.dispatch @first::@entry { rw %y[%c0 for %c16] : !stream.resource<external>{%c16} }
    stream.cmd.concurrent {
      stream.cmd.dispatch @second::@entry { rw %y[%c0 for %c16] : !stream.resource<external>{%c16} }
    }
  } => !stream.timepoint
  %last = scf.if %again -> (!stream.timepoint) {
    %more = stream.cmd.execute await(%done)
        => with(%x as %y: !stream.resource<external>{%c16}) {
      stream.cmd.dispatch @third::@entry { rw %y[%c0 for %c16] : !stream.resource<external>{%c16} }
    } => !stream.timepoint
    scf.yield %more : !stream.timepoint
  } else {
    scf.yield %done : !stream.timepoint
  }
  util.return %last : !stream.timepoint
}
util.func public @one_dispatch() {
  util.return
}
"""


def test_commands_stand_there_that_often_in_order_and_inside_of_regions() -> None:
    text = with_many_launches(MODULE, 3, lambda name: name == "c0")
    original, _, copy = text.partition("@c0_many")
    names = [line.split("@")[1].split(":")[0] for line in copy.splitlines() if "cmd.disp" in line]
    assert names == [*("first", "second") * 3, *("third",) * 3]
    assert original.count("stream.cmd.dispatch") == 3
    assert text.count("stream.cmd.execute") == 4
    assert text.count("stream.cmd.concurrent") == 4
    assert text.count("@one_dispatch") == 1


def test_what_is_not_a_module() -> None:
    with pytest.raises(ValueError, match="Unable to parse module"):
        with_many_launches("util.func @c0(", 2, lambda _: True)
