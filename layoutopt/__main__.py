"""``python -m layoutopt``, and the script ``layoutopt``."""

from layoutopt.cli.interrupt import end_at_once


def run() -> None:
    """Run the command line; an interrupt ends it with one line also while it is imported."""
    end_at_once()
    from layoutopt.cli.main import main  # noqa: PLC0415  (takes time in which Ctrl-C may come)

    main()


if __name__ == "__main__":
    run()
