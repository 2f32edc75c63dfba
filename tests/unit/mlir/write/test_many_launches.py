from __future__ import annotations

import re

import pytest

from layoutopt.mlir.write.many_launches import Launches, with_many_launches

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
    text = with_many_launches(MODULE, Launches(3), ["c0"])
    original, _, copy = text.partition("@c0_many")
    names = [line.split("@")[1].split(":")[0] for line in copy.splitlines() if "cmd.disp" in line]
    assert names == [*("first", "second") * 3, *("third",) * 3]
    assert original.count("stream.cmd.dispatch") == 3
    assert text.count("stream.cmd.execute") == 4
    assert text.count("stream.cmd.concurrent") == 4
    assert text.count("@one_dispatch") == 1


def test_what_is_not_a_module() -> None:
    with pytest.raises(ValueError, match="Unable to parse module"):
        with_many_launches("util.func @c0(", Launches(2), ["c0"])


READING = """
util.global private @w : !stream.resource<constant>
util.global private @b : !stream.resource<constant>
util.func public @c0(%x: !stream.resource<external>, %at: index) -> !stream.timepoint {
  %c0 = arith.constant 0 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  %c1000 = arith.constant 1000 : index
  %w = util.global.load @w : !stream.resource<constant>
  %b = util.global.load @b : !stream.resource<constant>
  %done = stream.cmd.execute with(%x as %y: !stream.resource<external>{%c16},
      %w as %v: !stream.resource<constant>{%c1000}, %b as %c: !stream.resource<constant>{%c40}) {
    stream.cmd.concurrent {
      stream.cmd.dispatch @first::@entry {
        ro %v[%c16 for %c40] : !stream.resource<constant>{%c1000},
        rw %y[%c0 for %c16] : !stream.resource<external>{%c16}
      }
      stream.cmd.dispatch @second::@entry {
        ro %v[%at for %c40] : !stream.resource<constant>{%c1000},
        rw %y[%c0 for %c16] : !stream.resource<external>{%c16}
      }
    }
    stream.cmd.copy %c[%c0], %y[%c0], %c16
        : !stream.resource<constant>{%c40} -> !stream.resource<external>{%c16}
  } => !stream.timepoint
  util.return %done : !stream.timepoint
}
"""


def test_launches_read_copies_in_turn() -> None:
    text = with_many_launches(READING, Launches(5, cycle_bytes=2500), ["c0"])
    before, _, function = text.partition("@c0_many")
    original, _, made = before.partition("util.global private @w_copies")
    reads = re.findall(r"ro %\w+\[(%\w+) for %c40\] : !stream.resource<constant>{(%\w+)}", function)
    values = dict(re.findall(r"(%\w+) = (arith.*) : index", function))
    numbers = {name: int(v.split()[-1]) for name, v in values.items() if v.startswith("arith.con")}
    assert [numbers[at] for at, _ in reads[::2]] == [16, 1040, 2064, 16, 1040]
    assert {numbers[size] for _, size in reads} == {3 * 1024}
    added = [values[at].partition(", ")[2] for at, _ in reads[1::2]]
    assert [numbers[name] for name in added] == [0, 1024, 2048, 0, 1024]
    assert "_copies" not in original
    assert original.count("stream.cmd.dispatch") == 2
    assert "@b_copies" not in text, "a command that is no dispatch reads it"
    assert made.count("stream.cmd.copy") == 3


@pytest.mark.parametrize(
    ("cycle_bytes", "size", "copies"),
    [(0, 100, 1), (1000, 100, 11), (1000, 10, 32), (1000, 1001, 1), (1000, 0, 1)],
)
def test_as_many_copies_as_a_cache_does_not_hold(cycle_bytes: int, size: int, copies: int) -> None:
    assert Launches(32, cycle_bytes).copies(size) == copies
