from __future__ import annotations

import re

import pytest
from iree.compiler import ir

from layoutopt.mlir.write.many_launches import Launches, with_many_launches

HEAD = """
util.global private @device : !hal.device
util.global private @kernels : !hal.executable
util.global private @w : !hal.buffer
util.global private @b : !hal.buffer
"""
"""What the functions below read."""

RECORDED = """
util.func private @record_c0() -> !hal.command_buffer {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c16 = arith.constant 16 : index
  %c40 = arith.constant 40 : index
  %c1000 = arith.constant 1000 : index
  %any = arith.constant -1 : i64
  %device = util.global.load immutable @device : !hal.device
  %kernels = util.global.load immutable @kernels : !hal.executable
  %w = util.global.load immutable @w : !hal.buffer
  %b = util.global.load immutable @b : !hal.buffer
  %cmd = hal.command_buffer.create device(%device : !hal.device) mode("None")
      categories("Transfer|Dispatch") affinity(%any) bindings(%c1) : !hal.command_buffer
  %one = hal.executable.lookup.function target(%kernels : !hal.executable)
      function(@l::@x::@first) : i64
  hal.command_buffer.dispatch<%cmd : !hal.command_buffer> target(%kernels : !hal.executable)[%one]
      workgroups([%c1, %c1, %c1]) bindings([
        (%w : !hal.buffer)[%c16, %c1000], (%b : !hal.buffer)[%c0, %c40], (%c0 : index)[%c0, %c16]
      ]) flags("None")
  hal.command_buffer.execution_barrier<%cmd : !hal.command_buffer>
      source("Dispatch|Transfer|CommandRetire") target("CommandIssue|Dispatch|Transfer")
      flags("None")
  %two = hal.executable.lookup.function target(%kernels : !hal.executable)
      function(@l::@x::@second) : i64
  hal.command_buffer.dispatch<%cmd : !hal.command_buffer> target(%kernels : !hal.executable)[%two]
      workgroups([%c1, %c1, %c1]) bindings([
        (%w : !hal.buffer)[%c0, %c16], (%c0 : index)[%c0, %c16]
      ]) flags("None")
  hal.command_buffer.copy_buffer<%cmd : !hal.command_buffer> source(%b : !hal.buffer)[%c0]
      target(%c0 : index)[%c0] length(%c16) flags("None")
  hal.command_buffer.finalize<%cmd : !hal.command_buffer>
  util.return %cmd : !hal.command_buffer
}
util.global private @commands_c0 : !hal.command_buffer
util.initializer {
  %made = util.call @record_c0() : () -> !hal.command_buffer
  util.global.store %made, @commands_c0 : !hal.command_buffer
  util.return
}
util.func public @c0() -> !hal.command_buffer {
  %commands = util.global.load immutable @commands_c0 : !hal.command_buffer
  util.return %commands : !hal.command_buffer
}
util.func public @another() {
  util.return
}
"""
"""As of a function whose sizes are known: commands are recorded ahead of its calls."""

AT_ONCE = """
util.func public @c0(%n: index) -> !hal.command_buffer {
  %c0 = arith.constant 0 : index
  %any = arith.constant -1 : i64
  %device = util.global.load immutable @device : !hal.device
  %b = util.global.load immutable @b : !hal.buffer
  %cmd = hal.command_buffer.create device(%device : !hal.device) mode(OneShot)
      categories("Transfer|Dispatch") affinity(%any) : !hal.command_buffer
  %some = arith.cmpi ugt, %n, %c0 : index
  cf.cond_br %some, ^copy, ^end
^copy:
  hal.command_buffer.copy_buffer<%cmd : !hal.command_buffer> source(%b : !hal.buffer)[%c0]
      target(%b : !hal.buffer)[%n] length(%n) flags("None")
  cf.br ^end
^end:
  hal.command_buffer.finalize<%cmd : !hal.command_buffer>
  util.return %cmd : !hal.command_buffer
}
"""
"""As of one whose sizes tell what is done: a call records its own."""

_BUFFER = """
  %cmd{n} = hal.command_buffer.create device(%device : !hal.device) mode(OneShot)
      categories("Transfer|Dispatch") affinity(%any) : !hal.command_buffer
  hal.command_buffer.dispatch<%cmd{n} : !hal.command_buffer>
      target(%kernels : !hal.executable)[%one] workgroups([%c1, %c1, %c1]) bindings([
        (%w : !hal.buffer)[%c0, %c1000]
      ]) flags("None")
  hal.command_buffer.finalize<%cmd{n} : !hal.command_buffer>
"""
TWO = f"""
util.func public @c0(%one: i64) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c1000 = arith.constant 1000 : index
  %any = arith.constant -1 : i64
  %device = util.global.load immutable @device : !hal.device
  %kernels = util.global.load immutable @kernels : !hal.executable
  %w = util.global.load immutable @w : !hal.buffer
{_BUFFER.format(n=0)}{_BUFFER.format(n=1)}
  util.return
}}
"""
"""Two command buffers, one behind the other, over the same constant."""


def test_commands_are_recorded_in_a_loop() -> None:
    text = with_many_launches(HEAD + RECORDED, Launches(3), ["c0"])
    assert _verified(text)
    before, _, made = text.partition("@record_c0_many()")
    assert before.count("hal.command_buffer.dispatch<") == 2
    assert "cf.br" not in before
    ahead, loop, behind = _loop(made)
    assert _commands(ahead) == ["create"]
    assert _commands(loop) == ["dispatch", "execution_barrier", "dispatch", "copy_buffer"]
    assert _commands(behind) == ["finalize"]
    assert _bound(ahead, loop) == 3
    assert "@w_copies" not in text
    assert "@another_many" not in text


def test_a_copy_reads_the_commands_that_were_recorded_for_it() -> None:
    text = with_many_launches(HEAD + RECORDED, Launches(3), ["c0"])
    made = text.partition("@record_c0_many()")[2]
    for expected in (
        "util.global private @commands_c0_many : !hal.command_buffer",
        "util.call @record_c0_many()",
        "util.global.store %0, @commands_c0_many",
        "util.func public @c0_many()",
        "util.global.load immutable @commands_c0_many",
    ):
        assert expected in made, expected
    assert re.findall(r"@(?:record|commands)_c0\b(?!_)", made) == []


def test_commands_that_each_call_records_with_branches_among_them() -> None:
    text = with_many_launches(HEAD + AT_ONCE, Launches(3), ["c0"])
    assert _verified(text)
    made = text.partition("@c0_many(")[2]
    ahead, loop, behind = _loop(made)
    assert _commands(ahead) == ["create"]
    assert _commands(loop) == ["copy_buffer"]
    assert _commands(behind) == ["finalize"]
    assert loop.count("cf.cond_br") == 2


def test_what_is_not_a_module() -> None:
    with pytest.raises(ValueError, match="Unable to parse module"):
        with_many_launches("util.func @c0(", Launches(2), ["c0"])


def test_launches_read_copies_in_turn() -> None:
    text = with_many_launches(HEAD + RECORDED, Launches(5, cycle_bytes=2500), ["c0"])
    assert _verified(text)
    before, _, made = text.partition("util.global private @w_copies : !hal.buffer")
    assert "_copies" not in before
    assert "@b_copies" not in text, "a command that is no dispatch reads it"
    copying, _, function = made.partition("@record_c0_many()")
    numbers = _numbers(copying)
    assert sorted(numbers.values()) == [0, 1, 3, 1016, 1024, 3 * 1024]
    assert copying.count("hal.command_buffer.copy_buffer") == 1
    values = dict(re.findall(r"(%\w+) = (arith.*) : index", function))
    numbers = _numbers(function)
    starts = re.findall(r"%w_copies : !hal.buffer\)\[(%\w+), %\w+\]", function)
    assert len(starts) == 2
    for start in starts:
        first, shift = re.findall(r"%\w+", values[start])
        assert numbers[first] in (0, 16)
        turn, stride = re.findall(r"%\w+", values[shift])
        assert numbers[stride] == 1024
        assert numbers[re.findall(r"%\w+", values[turn])[1]] == 3


def test_each_of_two_command_buffers_goes_through_the_copies() -> None:
    text = with_many_launches(HEAD + TWO, Launches(5, cycle_bytes=2500), ["c0"])
    assert _verified(text)
    made = text.partition("@c0_many(")[2]
    starts = re.findall(r"%w_copies : !hal.buffer\)\[(%\w+), %\w+\]", made)
    values = dict(re.findall(r"(%\w+) = (arith.*) : index", made))
    launches = []
    for start in starts:
        shift = re.findall(r"%\w+", values[start])[1]
        turn = re.findall(r"%\w+", values[shift])[0]
        launches.append(re.findall(r"%\w+", values[turn])[0])
    loops = re.findall(r"\^bb\d+\((%\w+): index\)", made)
    assert len(loops) == 2
    assert launches == loops
    assert text.count("util.global private @w_copies") == 1


def _verified(text: str) -> bool:
    with ir.Context(), ir.Location.unknown():
        return bool(ir.Module.parse(text).operation.verify())


def _loop(function: str) -> tuple[str, str, str]:
    """The text of a function ahead of the loop that records commands, of the loop, and behind."""
    entry = re.search(r"cf\.br (\^bb\d+)\(", function)
    assert entry
    again = re.search(rf"cf\.cond_br %\w+, \{entry[1]}\(%\w+ : index\), \^bb\d+", function)
    assert again
    return function[: entry.end()], function[entry.end() : again.end()], function[again.end() :]


def _commands(text: str) -> list[str]:
    return re.findall(r"hal\.command_buffer\.(\w+)", text)


def _numbers(text: str) -> dict[str, int]:
    return {name: int(n) for name, n in re.findall(r"(%\w+) = arith.constant (\d+) : index", text)}


def _bound(ahead: str, loop: str) -> int:
    """How often a loop runs."""
    (bound,) = re.findall(r"arith.cmpi ult, %\w+, (%\w+) : index", loop)
    return _numbers(ahead)[bound]


@pytest.mark.parametrize(
    ("cycle_bytes", "size", "copies"),
    [(0, 100, 1), (1000, 100, 11), (1000, 10, 32), (1000, 1001, 1), (1000, 0, 1)],
)
def test_as_many_copies_as_a_cache_does_not_hold(cycle_bytes: int, size: int, copies: int) -> None:
    assert Launches(32, cycle_bytes).copies(size) == copies
