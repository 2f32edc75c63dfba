from __future__ import annotations

from layoutopt.pricing.analytic.compiled.host_program import Command, read_program

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
