"""Progress in a terminal: the stage, what is being measured, and how long it will take."""

from __future__ import annotations

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from layoutopt.runtime.progress import Progress as Callbacks


class TerminalSteps:
    """Shows stages and measuring; a context manager. Quiet where the console is not a terminal."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._measuring = _Measuring(self._bar)
        self._begun = False

    def __enter__(self) -> TerminalSteps:
        self._bar.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._bar.stop()

    def step(self, name: str) -> None:
        """A stage begins. The first one is not told: bad input then ends with its one line."""
        self._measuring.end()
        if self._begun:
            self._console.print(f"[dim]{name} ...[/dim]", highlight=False)
        self._begun = True

    @property
    def progress(self) -> Callbacks:
        """The bar of the measuring."""
        return self._measuring


class _Measuring:
    def __init__(self, bar: Progress) -> None:
        self._bar = bar
        self._task = bar.add_task("", visible=False, left="")

    def end(self) -> None:
        self._bar.update(self._task, visible=False)

    def total(self, candidates: int) -> None:
        """How many candidates there are."""
        self._bar.reset(self._task, total=candidates, visible=candidates > 0, left="")

    def advance(self, candidates: int = 1) -> None:
        """So many more are done."""
        self._bar.advance(self._task, candidates)

    def description(self, text: str) -> None:
        """What goes on now."""
        self._bar.update(self._task, description=text)

    def remaining(self, seconds: float) -> None:
        """How long the rest will take."""
        minutes, rest = divmod(round(seconds), 60)
        self._bar.update(self._task, left=f"about {minutes}:{rest:02d} left")
