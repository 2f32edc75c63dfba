"""The commands, each imported when it is called: a list of them needs no compiler."""

from __future__ import annotations

from importlib import import_module

import click

from layoutopt.cli.interrupt import raise_again

COMMANDS = {
    "bench": "Compare models with IREE's own flag sets and other runtimes.",
    "compile": "Compile what `optimize` wrote.",
    "explain": "Say why a plan is as it is.",
    "optimize": "Plan a model, write it, verify it, time it.",
    "pack-weights": "Rewrite parameters (.irpa, .safetensors, .gguf) as MODULE reads them.",
    "profile": "Measure what prices lack; look after them.",
    "rules": "List the rules, why they are sound, and how often they fire on a model.",
    "targets": "List the targets that layoutopt knows.",
}
"""By name, in the order of `--help`: what each is for. It lives in the module of that name."""


class Catalogue(click.Group):
    """A group that knows its commands by name before it has them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Their names."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command, imported now; None where there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        word = cmd_name.replace("-", "_")
        module = import_module(f"layoutopt.cli.{word}")
        command = getattr(module, f"{word}_command")
        assert isinstance(command, click.Command)
        raise_again()
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Their names and what they are for, as `--help` lists them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))
