from __future__ import annotations

import pytest

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
