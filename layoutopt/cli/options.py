"""Options that several commands take, and the values that options hold."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from enum import StrEnum
from pathlib import Path
from typing import Any  # what click gives: any value, of any type

import click

from layoutopt.errors import InputError
from layoutopt.runtime.sampling import WeightsFrom
from layoutopt.runtime.worker_process import cores

PATH = click.Path(path_type=Path, readable=False)  # who opens it says what is wrong


class _Checked(click.ParamType[Any], ABC):
    """A value that is refused in the words of every other error."""

    expected: str

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Any:  # fmt: skip
        """The value in its type. Raises InputError where it is none."""
        found = self.read(str(value))
        if found is None:
            where = param.opts[0] if param is not None else self.name
            command = ctx.command_path if ctx is not None else "layoutopt"
            raise InputError(where, self.expected, f"'{value}'", f"see `{command} --help`")
        return found

    @abstractmethod
    def read(self, text: str) -> object | None:
        """The value that a text stands for; None where it stands for none."""


class WholeNumber(_Checked):
    """A whole number from ``at_least`` on."""

    name = "integer"

    def __init__(self, at_least: int) -> None:
        self.at_least = at_least
        self.expected = f"a whole number of at least {at_least}"

    def read(self, text: str) -> int | None:
        """None for what is not a whole number, or too small."""
        try:
            found = int(text)
        except ValueError:
            return None
        return found if found >= self.at_least else None


class Threads(WholeNumber):
    """Threads of the CPU: how many, or ``all`` that this process may run on."""

    name = "threads"

    def __init__(self) -> None:
        super().__init__(1)
        self.expected = f"{self.expected}, or 'all'"

    def read(self, text: str) -> int | None:
        """None for any other word."""
        return cores() if text == "all" else super().read(text)


class SeveralThreads(_Checked):
    """The same, several times, with commas between."""

    name = "threads"

    def __init__(self) -> None:
        self._each = Threads()
        self.expected = f"{self._each.expected}, or several with commas between"

    def read(self, text: str) -> tuple[int, ...] | None:
        """None where one of them is none; each once."""
        found = [self._each.read(part) for part in text.split(",")]
        known = [threads for threads in found if threads is not None]
        return tuple(dict.fromkeys(known)) if len(known) == len(found) else None


class Number(_Checked):
    """A finite number from ``at_least`` on."""

    name = "number"

    def __init__(self, at_least: float) -> None:
        self.at_least = at_least
        self.expected = f"a number of at least {at_least:g}"

    def read(self, text: str) -> float | None:
        """None for what is not a finite number, or too small."""
        try:
            found = float(text)
        except ValueError:
            return None
        return found if math.isfinite(found) and found >= self.at_least else None


class OneOf(_Checked):
    """One value of an enum."""

    name = "word"

    def __init__(self, choices: type[StrEnum]) -> None:
        self.choices = choices
        self.expected = f"one of {', '.join(choices)}"

    def read(self, text: str) -> StrEnum | None:
        """None for any other word."""
        return next((choice for choice in self.choices if choice.value == text), None)

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        """How help shows it."""
        return f"[{'|'.join(self.choices)}]"


profile_option = click.option(
    "--profile",
    default="host",
    show_default=True,
    metavar="NAME|FILE",
    help="Target: a name from `layoutopt targets` or a TOML file.",
)
device_option = click.option(
    "--device", metavar="URI", help="Measure on this device of IREE's runtime."
)
threads_option = click.option(
    "--threads",
    default="1",
    show_default=True,
    metavar="N|all",
    type=Threads(),
    help="Threads that models run with; prices are measured with as many.",
)
weights_from_option = click.option(
    "--weights-from",
    type=OneOf(WeightsFrom),
    help="Where candidates find their weights while they are priced; by default where a run of the"
    " model finds them, by how many bytes they are.",
)
no_compile_option = click.option(
    "--no-compile",
    is_flag=True,
    help="For a GPU that is not here: compile no candidate, price by a roofline, for a quick look.",
)
cache_option = click.option(
    "--cache",
    type=PATH,
    metavar="DIR",
    help="Folder of prices and converted models; the user's cache folder by default.",
)
html_option = click.option(
    "--html", type=PATH, metavar="PAGE.html", help="Write the report as one page for a browser."
)
parameters_option = click.option(
    "--parameters",
    multiple=True,
    metavar="[SCOPE=]FILE",
    help="Parameters that the model leaves outside (.irpa, .safetensors, .gguf); repeatable.",
)
