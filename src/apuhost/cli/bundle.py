"""The verbs below `apuhost bundle`."""

from pathlib import Path
from typing import Annotated

import typer

from apuhost.cli import usage
from apuhost.cli.usage import Command

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Signers = Annotated[
    Path,
    usage.path_option(
        "--signers", metavar="FILE", words="ssh-keygen's allowed signers, carried apart from DIR"
    ),
]
Older = Annotated[
    str, typer.Option("--older", metavar="REASON", help="let an older serial in, and say why")
]
Inventory = Annotated[Path, usage.path("INVENTORY")]
Limit = Annotated[
    list[str] | None,
    usage.named("--limit", metavar="HOST", words="only this host or group; may be repeated"),
]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="do not ask")]
Folder = Annotated[Path, usage.path("DIR")]


@app.callback()
def everything() -> None:
    """What a site without internet needs, in one signed folder: locked, built, checked."""


@app.command(cls=Command)
def lock(  # noqa: PLR0913, PLR0917  (an option each)
    inventory: Inventory,
    output: Annotated[Path, usage.path_option("-o", "--output", metavar="LOCK")],
    target: Annotated[
        str,
        typer.Option(
            "--target", metavar="DISTRIBUTION/SUITE", help="e.g. debian/trixie; else LOCK's own"
        ),
    ] = "",
    update: Annotated[
        list[str] | None,
        typer.Option(
            "--update",
            metavar="KIND",
            help="ask anew for images, debs, models, wheels or files alone; the rest stays",
        ),
    ] = None,
    sources: Annotated[
        Path | None,
        usage.path_option(
            "--sources", metavar="FILE", words="package sources (deb822), not Debian's"
        ),
    ] = None,
    preferences: Annotated[
        Path | None,
        usage.path_option(
            "--preferences", metavar="FILE", words="which of several versions (apt_preferences)"
        ),
    ] = None,
    limit: Limit = None,
) -> None:
    """Find out what the hosts need, each thing by its hash; says what changed since LOCK."""
    from apuhost.commands import bundle as command

    wanted = command.Locked(output, target, sources, preferences, update or [])
    raise typer.Exit(command.lock(inventory, limit or [], wanted))


@app.command(cls=Command)
def build(
    lock: Annotated[Path, usage.path("LOCK")],
    output: Annotated[Path, usage.path_option("-o", "--output", metavar="DIR")],
    key: Annotated[Path, usage.path_option("--key", metavar="KEY", words="the SSH key that signs")],
) -> None:
    """Fetch everything that a lock names, lay it out in DIR, and sign it."""
    from apuhost.commands import build as command

    raise typer.Exit(command.run(lock, output, key))


@app.command(cls=Command)
def verify(
    folder: Folder,
    signers: Signers,
    older: Older = "",
    hosts: Annotated[
        list[Path] | None,
        usage.path_option(
            "--for", metavar="FACTS", words="does it fit hosts whose facts were saved?"
        ),
    ] = None,
) -> None:
    """Is it signed by one of ours, whole, and no older than the last one here?"""
    from apuhost.commands import bundle as command

    raise typer.Exit(command.verify(folder, signers, older, hosts or []))


@app.command("list", cls=Command)
def carried(folder: Folder, signers: Signers) -> None:
    """Print the carry-in list: every file with its size and hash."""
    from apuhost.commands import bundle as command

    raise typer.Exit(command.carried(folder, signers))


@app.command(cls=Command)
def split(
    folder: Folder,
    output: Annotated[Path, usage.path_option("-o", "--output", metavar="OUTPUT")],
    size: Annotated[
        str, typer.Option("--size", metavar="SIZE", help="of a volume: dvd, 4GiB, 32GB")
    ] = "4GiB",
) -> None:
    """Write a bundle as volumes, a folder in OUTPUT for each stick or disc."""
    from apuhost.commands import bundle as command

    raise typer.Exit(command.split(folder, output, size))


@app.command(cls=Command)
def join(
    volumes: Annotated[list[Path], usage.path("VOLUME")],
    folder: Annotated[Path, usage.path_option("-o", "--output", metavar="DIR")],
) -> None:
    """Copy volumes to their bundle, all at once or one after the other; each part is checked."""
    from apuhost.commands import bundle as command

    raise typer.Exit(command.join(volumes, folder))


@app.command(cls=Command)
def diff(
    old: Annotated[Path, usage.path("OLD")],
    new: Annotated[Path, usage.path("NEW")],
) -> None:
    """Print what changes from one lock, or bundle, to another."""
    from apuhost.commands import bundle as command

    raise typer.Exit(command.changes(old, new))


@app.command(cls=Command)
def install(  # noqa: PLR0913, PLR0917  (an option each)
    folder: Folder,
    inventory: Inventory,
    signers: Signers,
    limit: Limit = None,
    older: Older = "",
    yes: Yes = False,
) -> None:
    """Bring a checked bundle to the mirror, and deploy the hosts that take from it."""
    from apuhost.commands import install as command

    asked = command.Asked(folder, signers, inventory, limit or [], older)
    raise typer.Exit(command.install(asked, yes=yes))


@app.command(cls=Command)
def prune(inventory: Inventory, limit: Limit = None, yes: Yes = False) -> None:
    """Remove bundles that are older than the one that the mirror serves."""
    from apuhost.commands import install as command

    raise typer.Exit(command.prune(inventory, limit or [], yes=yes))


@app.command("mirror-config", cls=Command)
def mirror_config(
    kind: Annotated[str, typer.Argument(metavar="KIND", help="containerd or kubespray")],
    inventory: Inventory,
    lock: Annotated[
        Path,
        usage.path_option("--lock", metavar="LOCK", words="of the bundle that the mirror serves"),
    ],
    output: Annotated[
        Path | None,
        usage.path_option("-o", "--output", metavar="DIR", words="else one file to stdout"),
    ] = None,
    limit: Limit = None,
) -> None:
    """Write what another program reads, to take images and files from the mirror."""
    from apuhost.commands import mirror_config as command

    raise typer.Exit(command.run(command.Asked(kind, inventory, limit or [], lock, output)))


@app.command(cls=Command)
def accept(
    inventory: Inventory,
    limit: Limit = None,
    allow: Annotated[
        list[str] | None,
        usage.named(
            "--allow", metavar="ADDRESS", words="the site's own: let through; or a network"
        ),
    ] = None,
    yes: Yes = False,
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="also what is good")] = False,
) -> None:
    """Cut a host off, reboot it: does all of it come up without anybody outside?"""
    from apuhost.commands import accept as command

    asked = command.Asked(inventory, limit or [], allow or [], yes)
    raise typer.Exit(command.run(asked, every=verbose))
