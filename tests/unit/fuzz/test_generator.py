"""Random programs: the same for a seed, valid MLIR, made of every kind of step."""

from __future__ import annotations

from collections import Counter

from iree.compiler import ir

from tests.fuzz.draw import Draw
from tests.fuzz.kinds import KINDS
from tests.fuzz.program import Program, Step, write
from tests.fuzz.settings import graph
from tests.parsing import CONTEXT

MANY = 400


def test_a_seed_gives_the_same_program() -> None:
    assert [graph(3, n).text for n in range(20)] == [graph(3, n).text for n in range(20)]
    assert graph(3, 0).text != graph(4, 0).text


def test_programs_are_mlir_made_of_every_kind_of_step() -> None:
    seen: Counter[str] = Counter()
    for number in range(MANY):
        written = graph(0, number)
        with CONTEXT:
            assert ir.Module.parse(written.text).operation.verify()
        seen.update(step.kind for step in written.program.steps)
    assert set(seen) == set(KINDS)


def test_a_program_replays_what_was_drawn() -> None:
    for number in range(50):
        written = graph(0, number)
        again = write(written.program, written.name, KINDS)
        assert (again.text, again.program) == (written.text, written.program)


def test_any_choices_are_a_program() -> None:
    """Zeros stand in for choices that are missing, and large ones are cut to what is allowed."""
    for kind in KINDS:
        for choices in ((), (1000,) * 40, (1, 0) * 20):
            written = write(Program((Step("image"), Step(kind, choices))), "f", KINDS)
            with CONTEXT:
                assert ir.Module.parse(written.text).operation.verify()


def test_a_step_that_has_no_meaning_leaves_nothing_behind() -> None:
    narrow = Step("argument", (3, 0))
    alone = write(Program((narrow,)), "f", KINDS)
    followed = write(Program((narrow, Step("two-results"), Step("convolution", (9,)))), "f", KINDS)
    kept = [step.kind for step in followed.program.steps]
    assert alone.text == write(Program(alone.program.steps), "f", KINDS).text
    assert kept[0] == "argument"


def test_choices_of_a_replay_are_cut_to_what_is_allowed() -> None:
    draw = Draw((7, 2))
    assert [draw.below(3), draw.below(3), draw.below(3)] == [2, 2, 0]
    assert draw.choices == [2, 2, 0]
