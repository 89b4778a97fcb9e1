"""The command line: reads arguments, calls the core, prints lines, sets the exit status.

Imports stand inside the commands: `apuhost --help` must not wait for them.
"""

import errno
import os
import sys
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from apuhost.errors import ApuhostError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
rehearse = typer.Typer(
    invoke_without_command=True,
    rich_markup_mode=None,
)
app.add_typer(rehearse, name="rehearse")

INTERRUPTED = 130

Inventory = Annotated[Path, typer.Argument(metavar="INVENTORY", help="e.g. inventories/minipc.py")]
Limit = Annotated[
    list[str] | None,
    typer.Option("--limit", metavar="HOST", help="only this host or group; may be repeated"),
]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="do not ask")]
Every = Annotated[bool, typer.Option("-v", "--verbose", help="also what is good")]


def main() -> None:
    """The console script: one line on stderr for an error, never a traceback (--debug shows it)."""
    debug = "--debug" in sys.argv
    arguments = [argument for argument in sys.argv[1:] if argument != "--debug"]
    try:
        _run(arguments)
    except ApuhostError as error:
        if debug:
            raise
        from apuhost.report import visible

        for line in str(error).splitlines():
            print(visible(line), file=sys.stderr)
        raise SystemExit(error.exit_status) from None
    except SystemExit as end:
        if end.code == INTERRUPTED:  # typer has turned Ctrl-C into it
            print("interrupted; run it again to go on", file=sys.stderr)
        raise
    except OSError as error:
        if debug:
            raise
        print(f"{error.filename or 'output'}: {error.strerror}", file=sys.stderr)
        raise SystemExit(2) from None


def _run(arguments: Sequence[str]) -> None:
    try:
        Path.cwd()
    except FileNotFoundError as error:
        raise ApuhostError("the current folder was removed: change to another one") from error
    try:
        app(arguments, prog_name="apuhost")
    finally:
        _flush()


def _flush() -> None:
    """Write what is still buffered, here where a full disk is an error like any other."""
    if sys.stdout is None:  # closed by the caller
        return
    try:
        sys.stdout.flush()
    except OSError as error:
        # At its end the interpreter tries again: then there must be nothing to complain of.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if error.errno != errno.EPIPE:  # a reader that has seen enough is no fault
            raise


def _version(wanted: bool) -> None:
    if wanted:
        print(f"apuhost {version('apuhost')}")
        raise typer.Exit


@app.callback()
def everywhere(
    _: Annotated[
        bool, typer.Option("--version", help="show it and exit", callback=_version, is_eager=True)
    ] = False,
    __: Annotated[bool, typer.Option("--debug", help="show an error's traceback")] = False,
) -> None:
    """A mini PC with an AMD APU as a local-LLM server: provisioned, and proven."""


@app.command()
def doctor(inventory: Inventory, limit: Limit = None) -> None:
    """Can this controller and these hosts be worked with? Each problem with its fix."""
    from apuhost.commands import doctor as command

    raise typer.Exit(command.run(inventory, limit or []))


@app.command()
def plan(inventory: Inventory, limit: Limit = None) -> None:
    """What a deploy would change, as a diff, and what is refused. Changes nothing."""
    from apuhost.commands import plan as command

    raise typer.Exit(command.run(inventory, limit or []))


@app.command()
def deploy(inventory: Inventory, limit: Limit = None, yes: Yes = False) -> None:
    """Apply the settings, reboot where needed, then verify in a new process."""
    from apuhost.commands import deploy as command

    raise typer.Exit(command.run(inventory, limit or [], yes=yes))


@app.command()
def verify(  # noqa: PLR0913, PLR0917  (an option each)
    inventory: Annotated[Path | None, typer.Argument(metavar="[INVENTORY]")] = None,
    limit: Limit = None,
    saved: Annotated[
        Path | None,
        typer.Option("--from", metavar="DIR", help="judge facts saved there, or a saved boot"),
    ] = None,
    json: Annotated[
        str | None, typer.Option("--json", metavar="FILE", help="write JSON; - is stdout")
    ] = None,
    junit: Annotated[
        str | None, typer.Option("--junit", metavar="FILE", help="write JUnit XML, for a CI server")
    ] = None,
    metrics: Annotated[
        str | None, typer.Option("--metrics", metavar="FILE", help="write Prometheus text")
    ] = None,
    active: Annotated[
        bool, typer.Option("--active", help="let every loaded model generate a token")
    ] = False,
    verbose: Every = False,
) -> None:
    """Is every setting really in force? Names the first layer that differs, and the fix."""
    from apuhost.commands import verify as command

    asked = command.Asked(inventory, limit or [], saved, active)
    files = {"json": json, "junit": junit, "metrics": metrics}
    outputs = {form: file for form, file in files.items() if file is not None}
    raise typer.Exit(command.run(asked, outputs, every=verbose))


@app.command()
def facts(
    inventory: Inventory,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="DIR")],
    limit: Limit = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="mask names, addresses and serial numbers")
    ] = False,
) -> None:
    """Save what the probes read, raw, to be judged later or elsewhere."""
    from apuhost.commands import facts as command

    change = command.redacted if redact else command.as_read
    raise typer.Exit(command.run(inventory, limit or [], output, change))


class WithKinds(TyperCommand):
    """A command whose help ends with the kinds of parse."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002
        """Write them, imported only here."""
        from apuhost.commands.parse import READERS

        with formatter.section("Kinds"):
            formatter.write_text(", ".join(sorted(READERS)))


@app.command(cls=WithKinds)
def parse(
    kind: Annotated[str, typer.Argument(metavar="KIND")],
    file: Annotated[str, typer.Argument(metavar="[FILE|-]")] = "-",
) -> None:
    """What apuhost reads in one program's output, as JSON."""
    from apuhost.commands import parse as command

    raise typer.Exit(command.run(kind, file))


@rehearse.callback()
def rehearse_everything(context: typer.Context) -> None:
    """The main job on a throw-away VM. Bare `rehearse` makes a new one, deploys and verifies."""
    from apuhost.commands import rehearse as command

    if context.invoked_subcommand is None:
        raise typer.Exit(command.everything())


@rehearse.command("up")
def rehearse_up() -> None:
    """Build the base image if it is not cached, make the VM, boot it."""
    from apuhost.commands import rehearse as command

    raise typer.Exit(command.up())


@rehearse.command("deploy")
def rehearse_deploy() -> None:
    """Deploy to the VM, rebooting it where needed, and verify."""
    from apuhost.commands import rehearse as command

    raise typer.Exit(command.deploy())


@rehearse.command("verify")
def rehearse_verify() -> None:
    """Verify the VM."""
    from apuhost.commands import rehearse as command

    raise typer.Exit(command.check())


@rehearse.command("ssh", context_settings={"ignore_unknown_options": True})
def rehearse_ssh(
    words: Annotated[list[str] | None, typer.Argument(metavar="[COMMAND]")] = None,
) -> None:
    """Log in to the VM, or run a command there."""
    from apuhost.commands import rehearse as command

    raise typer.Exit(command.login(words or []))


@rehearse.command("down")
def rehearse_down() -> None:
    """Stop the VM and remove its files; the base image stays cached."""
    from apuhost.commands import rehearse as command

    raise typer.Exit(command.down())


if __name__ == "__main__":
    main()
