"""Arguments as the README has them: `INVENTORY`, without a type or braces, and never empty."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperArgument, TyperCommand

from apuhost.errors import ApuhostError


class Command(TyperCommand):
    """A command whose help names an argument by its word alone."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401
        """Without the braces around what must be given, which would be typed along."""
        return [re.sub("[{}]", "", piece) for piece in super().collect_usage_pieces(ctx)]

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Write arguments and options, each kind below its head."""
        arguments, options = [], []
        for param in self.get_params(ctx):
            name, words = param.get_help_record(ctx) or ("", "")
            if isinstance(param, TyperArgument):
                arguments.append((param.display_name_raw, words))
            elif name:
                options.append((name, words))
        for head, rows in (("Arguments", arguments), ("Options", options)):
            if rows:
                with formatter.section(head):
                    formatter.write_dl(rows)


def path(metavar: str, words: str = "") -> Any:  # noqa: ANN401  (what typer.Argument is)
    """An argument that is a path; `words` tell of it in the help."""
    return typer.Argument(metavar=metavar, help=words or None, parser=_reader(metavar, "path"))


def path_option(*names: str, metavar: str, words: str = "") -> Any:  # noqa: ANN401
    """An option that takes a path."""
    reader = _reader(names[-1], metavar)
    return typer.Option(*names, metavar=metavar, help=words or None, parser=reader)


def named(*names: str, metavar: str, words: str = "") -> Any:  # noqa: ANN401
    """An option that names something."""
    return typer.Option(*names, metavar=metavar, help=words or None, callback=_given)


def _reader(name: str, metavar: str) -> Callable[[str], Path]:
    # typer's own takes an empty text for this folder, and has words of three lines for a file that
    # may not be read.
    def read(text: str) -> Path:
        _refuse_empty(str(text), name, metavar)
        return Path(text)

    return read


def _given(option: typer.CallbackParam, value: Any) -> Any:  # noqa: ANN401  (of any option)
    """What an option was given."""
    for each in value if isinstance(value, list | tuple) else [value]:
        _refuse_empty(each, option.opts[-1], str(option.metavar))
    return value


def _refuse_empty(value: str | None, name: str, metavar: str) -> None:
    """An empty text is no name, but a script's variable without one."""
    if value == "":
        raise ApuhostError(f"{name} is empty: give it a {metavar}")
