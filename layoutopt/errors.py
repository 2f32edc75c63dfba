"""Errors, by who must act.

Every message reads `<where>: expected <X>, but got <Y>; <next step>`.
"""

INTERRUPTED = "layoutopt: interrupted; what is finished is kept, run it again to go on"


class LayoutoptError(Exception):
    """Anything that layoutopt reports to its user as one line."""

    def __init__(self, where: str, expected: str, got: str, next_step: str) -> None:
        self.where = where
        self.expected = expected
        self.got = got
        self.next_step = next_step
        super().__init__(one_line(f"{where}: expected {expected}, but got {got}; {next_step}"))


class InputError(LayoutoptError):
    """The user gave something that cannot be worked on: a file, an option, a module."""


class MissingProfileError(LayoutoptError):
    """A target without a description."""


class SolverError(LayoutoptError):
    """The selection problem has no answer, or the answer does not check."""


class LoweringError(LayoutoptError):
    """A plan could not be written as MLIR, or IREE refuses the module that was written."""


class RefusedModuleError(LoweringError):
    """IREE does not compile the module that was written.

    It names `dispatches`, or points at `lines` of the text that the plan was parsed from.
    """

    def __init__(self, got: str, dispatches: tuple[str, ...], lines: tuple[int, ...] = ()) -> None:
        super().__init__(
            "the optimized module",
            "one that iree-compile takes",
            got,
            "report this as a bug of layoutopt",
        )
        self.dispatches = dispatches
        self.lines = lines


def one_line(text: str) -> str:
    """The text without line breaks and other characters that do not print."""
    if text.isprintable():
        return text
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def why(error: Exception) -> str:
    """What went wrong, without the path that a message names already."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror[0].lower() + error.strerror[1:]
    return str(error) or type(error).__name__
