"""The verbs, each with its arguments and options.

Imports stand inside the verbs: `apuhost --help` must not wait for them.
"""

from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

import typer

from apuhost.cli import bundle, rehearse, usage
from apuhost.cli.usage import Command
from apuhost.errors import ApuhostError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(bundle.app, name="bundle")
app.add_typer(rehearse.app, name="rehearse")


Inventory = Annotated[Path, usage.path("INVENTORY", "e.g. inventories/minipc.py")]
Limit = Annotated[
    list[str] | None,
    usage.named("--limit", metavar="HOST", words="only this host or group; may be repeated"),
]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="do not ask")]
Every = Annotated[bool, typer.Option("-v", "--verbose", help="also what is good")]


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


@app.command(cls=Command)
def doctor(inventory: Inventory, limit: Limit = None) -> None:
    """Can this controller and these hosts be worked with? Each problem with its fix."""
    from apuhost.commands import doctor as command

    raise typer.Exit(command.run(inventory, limit or []))


@app.command(cls=Command)
def plan(
    inventory: Inventory,
    limit: Limit = None,
    verbose: Annotated[
        bool, typer.Option("-v", "--verbose", help="also the lines of long new files")
    ] = False,
) -> None:
    """What a deploy would change, as a diff, and what is refused. Changes nothing."""
    from apuhost.commands import plan as command

    raise typer.Exit(command.run(inventory, limit or [], every=verbose))


@app.command(cls=Command)
def deploy(
    inventory: Inventory,
    limit: Limit = None,
    serial: Annotated[
        str | None,
        usage.named("--serial", metavar="N", words="so many hosts at a time, or N% of them"),
    ] = None,
    max_failures: Annotated[
        int | None,
        usage.named("--max-failures", metavar="N", words="after N failed hosts no batch begins"),
    ] = None,
    yes: Yes = False,
) -> None:
    """Apply the settings, reboot where needed, then verify in a new process."""
    from apuhost.commands import deploy as command
    from apuhost.commands.pace import Pace

    pace = Pace(serial, max_failures)
    raise typer.Exit(command.run(inventory, limit or [], pace, yes=yes))


@app.command(cls=Command)
def verify(  # noqa: PLR0913, PLR0917  (an option each)
    inventory: Annotated[Path | None, usage.path("INVENTORY")] = None,
    limit: Limit = None,
    saved: Annotated[
        str | None,
        usage.named("--from", metavar="DIR", words="judge facts saved there, or a saved boot"),
    ] = None,
    json: Annotated[
        str | None, usage.named("--json", metavar="FILE", words="write JSON; - is stdout")
    ] = None,
    junit: Annotated[
        str | None, usage.named("--junit", metavar="FILE", words="write JUnit XML, for a CI server")
    ] = None,
    metrics: Annotated[
        str | None,
        usage.named("--metrics", metavar="FILE", words="write Prometheus text (FILE.prom)"),
    ] = None,
    active: Annotated[
        bool, typer.Option("--active", help="ask loaded models for a token, and one prompt twice")
    ] = False,
    verbose: Every = False,
) -> None:
    """Is every setting really in force? Names the first layer that differs, and the fix."""
    from apuhost.commands import verify as command

    asked = command.Asked(inventory, limit or [], Path(saved) if saved else None, active)
    files = {"json": json, "junit": junit, "metrics": metrics}
    outputs = {form: file for form, file in files.items() if file is not None}
    raise typer.Exit(command.run(asked, outputs, every=verbose))


@app.command(cls=Command)
def facts(
    inventory: Inventory,
    output: Annotated[str, usage.named("-o", "--output", metavar="DIR", words="a folder per host")],
    limit: Limit = None,
    redact: Annotated[
        bool, typer.Option("--redact", help="mask names, addresses and serial numbers")
    ] = False,
) -> None:
    """Save what the probes read, raw, to be judged later or elsewhere."""
    from apuhost.commands import facts as command

    change = command.redacted if redact else command.as_read
    raise typer.Exit(command.run(inventory, limit or [], Path(output), change))


@app.command(cls=Command)
def inventory(
    inventory: Inventory,
    ansible: Annotated[bool, typer.Option("--ansible", help="as Ansible takes it: JSON")] = False,
    _: Annotated[bool, typer.Option("--list", help="all hosts: as without it")] = False,
    host: Annotated[
        str | None, usage.named("--host", metavar="NAME", words="the variables of one host")
    ] = None,
    saved: Annotated[
        str | None, usage.named("--from", metavar="DIR", words="Derived, too, by facts saved there")
    ] = None,
    limit: Limit = None,
) -> None:
    """The hosts with the way to them and every setting, for another tool."""
    from apuhost.commands import inventory as command

    if not ansible:
        raise ApuhostError("for which tool? --ansible is the one that there is")
    raise typer.Exit(command.run(inventory, limit or [], host, Path(saved) if saved else None))


class WithKinds(Command):
    """A command whose help ends with the kinds of parse."""

    def format_epilog(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401, ARG002
        """Write them, imported only here."""
        from apuhost.commands.kinds import READERS

        with formatter.section("Kinds"):
            formatter.write_text(", ".join(sorted(READERS)))


@app.command(cls=WithKinds)
def parse(
    kind: Annotated[str, typer.Argument(metavar="KIND")],
    file: Annotated[Path, usage.path("FILE|-")] = Path("-"),
) -> None:
    """What apuhost reads in one program's output, as JSON."""
    from apuhost.commands import parse as command

    raise typer.Exit(command.run(kind, str(file)))
