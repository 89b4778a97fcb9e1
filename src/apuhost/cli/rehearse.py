"""The verbs below `apuhost rehearse`."""

from typing import Annotated

import typer

from apuhost.cli.usage import Command

app = typer.Typer(invoke_without_command=True, rich_markup_mode=None)


@app.callback()
def everything(context: typer.Context) -> None:
    """The main job on a throw-away VM. Bare `rehearse` makes a new one, deploys and verifies."""
    from apuhost.commands import rehearse as command

    if context.invoked_subcommand is None:
        raise typer.Exit(command.everything())


@app.command(cls=Command)
def up() -> None:
    """Build the base image if it is not cached, make the VM, boot it."""
    from apuhost.commands import rehearse as command

    raise typer.Exit(command.up())


@app.command(cls=Command)
def deploy() -> None:
    """Deploy to the VM, rebooting it where needed, and verify."""
    from apuhost.commands import rehearse as command

    raise typer.Exit(command.deploy())


@app.command(cls=Command)
def verify() -> None:
    """Verify the VM."""
    from apuhost.commands import rehearse as command

    raise typer.Exit(command.check())


@app.command(cls=Command, context_settings={"ignore_unknown_options": True})
def ssh(
    words: Annotated[list[str] | None, typer.Argument(metavar="COMMAND")] = None,
) -> None:
    """Log in to the VM, or run a command there."""
    from apuhost.commands import rehearse as command

    raise typer.Exit(command.login(words or []))


@app.command(cls=Command)
def down() -> None:
    """Stop the VM and remove its files; the base image stays cached."""
    from apuhost.commands import rehearse as command

    raise typer.Exit(command.down())
