"""The command line: reads arguments, calls the core, prints lines, sets the exit status."""

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from apuhost import signals
from apuhost.cli.streams import forget, shown
from apuhost.errors import ApuhostError


def main() -> None:
    """The console script: one line on stderr for an error; --debug shows its traceback, too."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    with shown(), signals.unwinding():
        _told(arguments, debug)


def _told(arguments: Sequence[str], debug: bool) -> None:
    try:
        _run(arguments)
    except ApuhostError as error:
        if debug:
            traceback.print_exception(error)
        print(error, file=sys.stderr)
        raise SystemExit(error.exit_status) from None
    except SystemExit as end:
        if end.code in signals.STATUSES:  # typer has turned Ctrl-C into one of them
            print("interrupted; run it again to go on", file=sys.stderr)
        raise
    except OSError as error:
        if debug:
            traceback.print_exception(error)
        print(f"{error.filename or 'output'}: {error.strerror}", file=sys.stderr)
        raise SystemExit(2) from None


def _run(arguments: Sequence[str]) -> None:
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise ApuhostError("the current folder was removed: change to another one") from error
    try:
        from apuhost.cli.verbs import app  # takes long enough for a Ctrl-C

        app(arguments, prog_name="apuhost")
    except KeyboardInterrupt:
        raise SystemExit(signals.INTERRUPTED) from None
    finally:
        _flush()


def _flush() -> None:
    """Write what is still buffered, here where a full disk is an error like any other."""
    if sys.stdout is None:  # closed by the caller
        return
    try:
        sys.stdout.flush()
    except OSError:
        forget(sys.stdout)
        raise
