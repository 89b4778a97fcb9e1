"""The whole repository as the linter, the formatter and the type checker see it."""

import subprocess
import sys

import pytest

from apuhost.roles import CHECKOUT


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("ruff", "check", "--no-cache"), id="ruff check"),
        pytest.param(("ruff", "format", "--check", "--no-cache"), id="ruff format"),
        pytest.param(("mypy",), id="mypy"),
    ],
)
def test_the_repository_is_clean(arguments: tuple[str, ...]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
