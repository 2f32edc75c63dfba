"""What click has to say about a command line, in the words of every other error."""

from __future__ import annotations

import click

from layoutopt.errors import InputError


def usage_error(error: click.UsageError) -> InputError:
    """The same error as ``where: expected X, but got Y; next step``."""
    where = error.ctx.command_path if error.ctx is not None else "layoutopt"
    step = f"see `{where} --help`"
    match error:
        case click.NoSuchOption():
            near = ", ".join(error.possibilities or ())
            step = f"did you mean {near}?" if near else step
            return InputError(where, "an option that it has", f"'{error.option_name}'", step)
        case click.BadOptionUsage():
            return InputError(error.option_name, "a value", "none", step)
        case click.MissingParameter() if error.param is not None:
            name = (
                error.param.opts[0]
                if error.param.param_type_name == "option"
                else (error.param.make_metavar(error.ctx or click.Context(click.Command(where))))
            )
            return InputError(where, name, "none", step)
    text = error.format_message().rstrip(".").removeprefix("Got ")
    if text.startswith("No such command "):
        return InputError(where, "a command", text.removeprefix("No such command "), step)
    return InputError(where, "fitting arguments", text[:1].lower() + text[1:], step)
