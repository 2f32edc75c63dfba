from __future__ import annotations

import pytest

from layoutopt.pricing.analytic.compiled.host_program import Command, Shapes, read_program

MODULE = """\
module {
  util.initializer {
    %c7 = arith.constant 7 : index
    %f = hal.executable.lookup.function target(%e : !hal.executable) function(@e::@v::@load) : i64
    hal.command_buffer.dispatch<%cmd : !hal.command_buffer> target(%e : !hal.executable)[%f] \
workgroups([%c7, %c7, %c7]) bindings([
      (%c0 : index)[%c7, %c7]
    ]) flags("None")
  }
  util.func private @__main_memoize_apply() -> !hal.command_buffer {
    %c96 = arith.constant 96 : index
    %c1 = arith.constant 1 : index
    %c64 = arith.constant 64 : index
    hal.command_buffer.fill_buffer<%cmd : !hal.command_buffer> target(%c2 : index)[%c0, %c64] \
pattern(%c0_i8 : i8) flags("None")
    %function_id = hal.executable.lookup.function target(%e : !hal.executable) \
function(@e::@v::@matmul) : i64
    hal.command_buffer.dispatch<%cmd : !hal.command_buffer> target(%e : \
!hal.executable)[%function_id] workgroups([%c96, %c1, %n]) bindings([
      (%c0 : index)[%c0, %c64],
      (%w : !hal.buffer)[%c0, %c96]
    ]) flags("None")
    util.return %cmd : !hal.command_buffer
  }
  util.initializer {
    %0 = util.call @__main_memoize_apply() : () -> !hal.command_buffer
    util.global.store %0, @__main_memoize_result_0 : !hal.command_buffer
  }
  util.func public @main$async(%arg0: !hal.buffer_view) -> !hal.buffer_view {
    %r = util.global.load immutable @__main_memoize_result_0 : !hal.command_buffer
  }
  util.func public @main(%arg0: !hal.buffer_view) -> !hal.buffer_view {
    %0 = util.call @main$async(%arg0) : (!hal.buffer_view) -> !hal.buffer_view
  }
}
"""


def test_commands_of_a_call() -> None:
    """Recorded ahead of time, they run where the recording is used; what runs at load does not."""
    program = read_program(MODULE.splitlines())
    expected = (
        Command("", (), (64,), reads=False),
        Command("matmul", (96, 1, None), (64, 96)),
    )
    assert program.functions == {"main$async": expected, "main": expected}
    assert program.roots == ("main",)


def allocated(*lines: str, sizes: str = "%c40") -> str:
    """A module whose one function allocates, first 100 bytes, then ``sizes``."""
    body = "\n".join(f"    {line}" for line in lines)
    return f"""module {{
  util.func private @inner(%arg0: !hal.device) {{
    %c100 = arith.constant 100 : index
    %c40 = arith.constant 40 : index
    %a = hal.device.queue.alloca<%d : !hal.device> affinity(%x) : !hal.buffer{{%c100}}
{body}
    %b = hal.device.queue.alloca<%d : !hal.device> affinity(%x) : !hal.buffer{{{sizes}}}
  }}
  util.func public @main(%arg0: !hal.buffer_view) -> !hal.buffer_view {{
    util.call @inner(%arg0) : (!hal.device) -> ()
  }}
}}
"""


FREED = "hal.device.queue.dealloca<%d : !hal.device> affinity(%x) buffer(%a : !hal.buffer)"


@pytest.mark.parametrize(
    ("text", "held_bytes"),
    [
        (allocated(), 140),
        (allocated(FREED), 100),
        (allocated(sizes="%n"), None),  # known at run time only
        (MODULE, 0),
    ],
)
def test_what_a_call_holds(text: str, held_bytes: int | None) -> None:
    assert read_program(text.splitlines()).held_bytes["main"] == held_bytes


def test_what_two_functions_hold_is_not_added_up() -> None:
    """Which of them frees before the other one runs is not looked into."""
    other = allocated().replace("@inner", "@other").replace("@main", "@side")
    both = allocated().replace("util.call @inner", "util.call @other(%arg0)\n    util.call @inner")
    text = both.rstrip().removesuffix("}") + other.removeprefix("module {\n")
    assert read_program(text.splitlines()).held_bytes["main"] is None


OPEN = """\
module {
  util.func public @main$async(%arg0: !hal.buffer_view, %arg1: !hal.buffer_view) -> () {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c8 = arith.constant 8 : index
    %c32 = arith.constant 32 : index
    %c512 = arith.constant 512 : index
    %c32_i64 = arith.constant 32 : i64
    %n = hal.buffer_view.dim<%arg0 : !hal.buffer_view>[1] : index
    %staged = hal.buffer_view.buffer<%arg1 : !hal.buffer_view> : !hal.buffer
    hal.device.queue.copy<%d : !hal.device> affinity(%c) wait(%f) signal(%g) \
source(%staged : !hal.buffer)[%c0] target(%t : !hal.buffer)[%c0] length(%c8) flags("None")
    %m = hal.buffer.load<%t : !hal.buffer>[%c0] : i64
    %m1 = arith.index_cast %m : i64 to index
    %bytes = arith.muli %n, %c512 overflow<nsw> : index
    %tiles = arith.ceildivsi %n, %c32 : index
    %wide = arith.index_castui %n : index to i64
    %low = arith.index_castui %n : index to i32
    %high = arith.shrui %wide, %c32_i64 : i64
    %high32 = arith.trunci %high : i64 to i32
    %k = hal.executable.lookup.function target(%e : !hal.executable) function(@e::@v::@rows) : i64
    %long = arith.cmpi sgt, %n, %c32 : index
    cf.cond_br %long, ^bb1(%tiles : index), ^bb2(%m1 : index)
  ^bb1(%count: index):  // pred: ^bb0
    hal.command_buffer.dispatch<%cmd : !hal.command_buffer> target(%e : !hal.executable)[%k] \
workgroups([%count, %c1, %c1]) constants([%low, %high32]) bindings([
      (%a : !hal.buffer)[%c0, %bytes]
    ]) flags("None")
    cf.br ^bb3
  ^bb2(%other: index):  // pred: ^bb0
    hal.command_buffer.dispatch<%cmd : !hal.command_buffer> target(%e : !hal.executable)[%k] \
workgroups([%other, %c1, %c1]) bindings([
      (%a : !hal.buffer)[%c0, %bytes]
    ]) flags("None")
    cf.br ^bb3
  ^bb3:  // 2 preds: ^bb1, ^bb2
    util.return %r : !hal.buffer_view
  }
}
"""


def test_sizes_of_a_call_say_workgroups_bytes_and_the_way() -> None:
    def ran(rows: int) -> tuple[Command, ...]:
        shapes: Shapes = {"main": {0: (1, rows, 256), 1: 7}}
        return read_program(OPEN.splitlines(), shapes).functions["main$async"]

    assert ran(100) == (Command("rows", (4, 1, 1), (51200,), constants=(100, 0)),)
    assert ran(20) == (Command("rows", (7, 1, 1), (10240,)),)


def test_without_sizes_both_ways_are_counted() -> None:
    found = read_program(OPEN.splitlines()).functions["main$async"]
    copy, *kernels = found
    assert copy == Command("", (), (8,))
    assert [c.grid for c in kernels] == [(None, 1, 1), (None, 1, 1)]
    assert kernels[0].constants == (None, None)


def test_blocks_of_a_loop_are_counted_once() -> None:
    text = """\
  util.func public @main(%arg0: !hal.buffer_view) -> () {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c9 = arith.constant 9 : index
    cf.br ^bb1(%c0 : index)
  ^bb1(%i: index):  // 2 preds: ^bb0, ^bb2
    %more = arith.cmpi slt, %i, %c9 : index
    cf.cond_br %more, ^bb2, ^bb3
  ^bb2:  // pred: ^bb1
    hal.command_buffer.copy_buffer<%cmd : !hal.command_buffer> source(%a) target(%b) length(%c9)
    %next = arith.addi %i, %c1 : index
    cf.br ^bb1(%next : index)
  ^bb3:  // pred: ^bb1
    hal.command_buffer.copy_buffer<%cmd : !hal.command_buffer> source(%a) target(%b) length(%c1)
    util.return
  }
"""
    copies = read_program(text.splitlines()).functions["main"]
    assert [c.binding_bytes for c in copies] == [(9,), (1,)]
